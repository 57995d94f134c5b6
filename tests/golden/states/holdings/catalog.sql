BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0029');
CREATE TABLE batch (
	id INTEGER NOT NULL, 
	coordinator INTEGER NOT NULL, 
	"drop" VARCHAR(200) NOT NULL, 
	epoch INTEGER NOT NULL, 
	first_sequence BIGINT NOT NULL, 
	next_sequence BIGINT NOT NULL, 
	inserts BIGINT NOT NULL, 
	deletes BIGINT NOT NULL, 
	quarantined BIGINT NOT NULL, 
	duplicates BIGINT NOT NULL, 
	ticket BIGINT, 
	read_at BIGINT, 
	state VARCHAR(10) NOT NULL, 
	"commit" BIGINT, 
	seconds FLOAT NOT NULL, 
	part INTEGER NOT NULL, 
	lease BIGINT, 
	step BIGINT, 
	failures INTEGER NOT NULL, 
	unended INTEGER NOT NULL, 
	reason TEXT, 
	retry_of BIGINT, 
	retracted_by BIGINT, 
	clock BIGINT, 
	space VARCHAR(200) NOT NULL, 
	deaths INTEGER NOT NULL, 
	retry_at FLOAT, 
	tick BIGINT, 
	PRIMARY KEY (id), 
	UNIQUE (coordinator, space, "drop", part)
);
INSERT INTO "batch" VALUES(1,0,'d0',0,0,7,7,0,0,0,1,0,'retired',1,4.79946410014235880225e-02,0,2,1,0,1,NULL,NULL,NULL,NULL,'',0,NULL,NULL);
INSERT INTO "batch" VALUES(2,1,'d0',0,0,5,5,0,0,0,2,1,'retired',2,2.85714960009499918669e-02,0,2,3,0,1,NULL,NULL,NULL,NULL,'',0,NULL,NULL);
INSERT INTO "batch" VALUES(3,0,'d1',1,0,5,5,0,0,0,1,3,'retired',4,4.63809630018658936023e-02,0,3,1,0,1,NULL,NULL,NULL,NULL,'',0,NULL,NULL);
INSERT INTO "batch" VALUES(4,1,'d1',1,0,7,7,0,0,0,2,4,'retired',5,2.69806220021564513444e-02,0,3,3,0,1,NULL,NULL,NULL,NULL,'',0,NULL,NULL);
CREATE TABLE boundary (
	epoch INTEGER NOT NULL, 
	coordinator INTEGER NOT NULL, 
	ends_at FLOAT NOT NULL, 
	reason VARCHAR(10) NOT NULL, 
	PRIMARY KEY (epoch, coordinator)
);
INSERT INTO "boundary" VALUES(0,0,1767312000.0,'clock');
INSERT INTO "boundary" VALUES(0,1,1767355200.0,'clock');
INSERT INTO "boundary" VALUES(1,0,1767398400.0,'clock');
INSERT INTO "boundary" VALUES(1,1,1767441600.0,'clock');
CREATE TABLE "commit" (
	number BIGINT NOT NULL, 
	kind VARCHAR(10) NOT NULL, 
	committed_at DATETIME NOT NULL, 
	rows BIGINT NOT NULL, 
	PRIMARY KEY (number)
);
INSERT INTO "commit" VALUES(1,'apply','2026-11-24 13:02:00.968150',16);
INSERT INTO "commit" VALUES(2,'apply','2026-11-24 13:02:01.069548',16);
INSERT INTO "commit" VALUES(3,'merge','2026-11-24 13:02:01.180410',18);
INSERT INTO "commit" VALUES(4,'apply','2026-11-24 13:02:01.476428',16);
INSERT INTO "commit" VALUES(5,'apply','2026-11-24 13:02:01.636282',22);
INSERT INTO "commit" VALUES(6,'merge','2026-11-24 13:02:01.796056',36);
CREATE TABLE consumption (
	epoch INTEGER NOT NULL, 
	consumer VARCHAR(20) NOT NULL, 
	outcome VARCHAR(10) NOT NULL, 
	recorded_at DATETIME NOT NULL, 
	PRIMARY KEY (epoch, consumer)
);
INSERT INTO "consumption" VALUES(0,'publish','done','2026-11-24 13:02:01.291348');
INSERT INTO "consumption" VALUES(1,'publish','done','2026-11-24 13:02:01.981084');
CREATE TABLE coordinator (
	"index" INTEGER NOT NULL, 
	epoch INTEGER NOT NULL, 
	next_sequence BIGINT NOT NULL, 
	sealed_values BIGINT DEFAULT '0' NOT NULL, 
	PRIMARY KEY ("index")
);
INSERT INTO "coordinator" VALUES(0,2,0,0);
INSERT INTO "coordinator" VALUES(1,2,0,0);
CREATE TABLE correction (
	"commit" BIGINT NOT NULL, 
	epoch INTEGER NOT NULL, 
	rows BIGINT NOT NULL, 
	maps TEXT, 
	PRIMARY KEY ("commit", epoch)
);
CREATE TABLE delivery (
	id INTEGER NOT NULL, 
	coordinator INTEGER NOT NULL, 
	name VARCHAR(200) NOT NULL, 
	arrived_at FLOAT NOT NULL, 
	identity VARCHAR(200) NOT NULL, 
	files TEXT NOT NULL, 
	digest VARCHAR(64), 
	space VARCHAR(200) NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (coordinator, space, name)
);
INSERT INTO "delivery" VALUES(1,0,'d0',1.79552531395859551422e+09,'1662444:1795525313958595518','{"dividend.csv": [33, 1795525313958595518, "6a72e0afb43954cc2ebda602b3e3519e"], "split.csv": [24, 1795525313958575869, "eaec9cfcd1c21412d6637f00492d0f72"], "trade.csv": [137, 1795525313958551392, "c7fa15764787beedc7414427ec3205db"]}','6fbd5ddc32b68a119c041faff1a0b798b5508e8a1689a1606f3afcf2c573795c','');
INSERT INTO "delivery" VALUES(2,1,'d0',1.79552531395866751665e+09,'1662450:1795525313958667415','{"trade.csv": [137, 1795525313958667415, "935f930942a8866dae85449e4ab30a88"]}','9ae9983ba35ef15bd008cd1c1f520cc1bb608c2d0b8ba516ab8654889a65b423','');
INSERT INTO "delivery" VALUES(3,0,'d1',1.79552532131901073459e+09,'1662883:1795525321319010778','{"trade.csv": [142, 1795525321319010778, "ceb47d544ccc925663c56ee97bc5d274"]}','01ce279c426067c48eb303e577e6fdf04a627ad99a1aa4b07a22e4216ddd3607','');
INSERT INTO "delivery" VALUES(4,1,'d1',1.79552532131911706924e+09,'1662886:1795525321319116997','{"dividend.csv": [33, 1795525321319116997, "6a72e0afb43954cc2ebda602b3e3519e"], "split.csv": [24, 1795525321319099921, "eaec9cfcd1c21412d6637f00492d0f72"], "trade.csv": [142, 1795525321319080382, "c9a7c6588e56a28e6fadf4ec0730b0df"]}','b28f5dd69cd0bc5d3ce747fa16e156b64aed82c881db33710734f1bf61ad9dc0','');
CREATE TABLE file_aside (
	id INTEGER NOT NULL, 
	coordinator INTEGER NOT NULL, 
	batch BIGINT, 
	delivery VARCHAR(200) NOT NULL, 
	relation VARCHAR(200), 
	place TEXT NOT NULL, 
	kind VARCHAR(100) NOT NULL, 
	reason TEXT NOT NULL, 
	hint TEXT NOT NULL, 
	bytes BIGINT, 
	waits_for TEXT NOT NULL, 
	recorded_at FLOAT NOT NULL, 
	state VARCHAR(10) NOT NULL, 
	PRIMARY KEY (id)
);
CREATE TABLE final_partition (
	"view" VARCHAR(200) NOT NULL, 
	value BIGINT NOT NULL, 
	"commit" BIGINT NOT NULL, 
	rows BIGINT NOT NULL, 
	delta_version BIGINT, 
	recorded_at FLOAT NOT NULL, 
	report TEXT, 
	verdict VARCHAR(10), 
	PRIMARY KEY ("view", value)
);
CREATE TABLE installation (
	id INTEGER NOT NULL, 
	name VARCHAR(32) NOT NULL, 
	generation BIGINT NOT NULL, 
	home TEXT, 
	PRIMARY KEY (id)
);
INSERT INTO "installation" VALUES(1,'d925b733c3cf1bd0',1,'{"catalog":"","inode":1,"state":"/srv"}');
CREATE TABLE key_index (
	relation VARCHAR(200) NOT NULL, 
	version BIGINT NOT NULL, 
	signature VARCHAR(64) NOT NULL, 
	covers BIGINT NOT NULL, 
	PRIMARY KEY (relation)
);
CREATE TABLE key_run (
	id INTEGER NOT NULL, 
	relation VARCHAR(200) NOT NULL, 
	path TEXT NOT NULL, 
	"offset" BIGINT NOT NULL, 
	bytes BIGINT NOT NULL, 
	rows BIGINT NOT NULL, 
	lowest BIGINT NOT NULL, 
	highest BIGINT NOT NULL, 
	first BIGINT NOT NULL, 
	last BIGINT NOT NULL, 
	retired_by BIGINT, 
	PRIMARY KEY (id)
);
CREATE TABLE lease (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	holder VARCHAR(200) NOT NULL, 
	expires FLOAT NOT NULL, 
	floor BIGINT NOT NULL, 
	first_step BIGINT NOT NULL
);
CREATE TABLE log_file (
	id INTEGER NOT NULL, 
	batch BIGINT NOT NULL, 
	relation VARCHAR(200) NOT NULL, 
	path TEXT NOT NULL, 
	rows BIGINT NOT NULL, 
	source VARCHAR(400) NOT NULL, 
	min_offset BIGINT NOT NULL, 
	max_offset BIGINT NOT NULL, 
	checksums TEXT, 
	PRIMARY KEY (id)
);
INSERT INTO "log_file" VALUES(1,1,'split','log/split/d925b733.1.2.0-56a0df8290f24e81a459944b398bfae7.parquet',1,'0/split/rows',-4611686014132420608,-4611686014132420608,'6b207bbe');
INSERT INTO "log_file" VALUES(2,1,'dividend','log/dividend/d925b733.1.2.0-bbe1ef767b974af3a42a1f60322b820d.parquet',1,'0/dividend/rows',-4611686014132420608,-4611686014132420608,'65e316f7');
INSERT INTO "log_file" VALUES(3,1,'trade','log/trade/d925b733.1.2.0-9e369f08769d41ff93ae2936c029f81c.parquet',5,'0/trade/rows',-4611686014132420608,-4611686014132420604,'9dcbb090');
INSERT INTO "log_file" VALUES(4,2,'trade','log/trade/d925b733.1.2.2-5141e9f1bbcc4972850bfc7f4531651d.parquet',5,'1/trade/rows',-4611686009837453312,-4611686009837453308,'7009086c');
INSERT INTO "log_file" VALUES(5,3,'trade','log/trade/d925b733.1.3.0-6e1fbfd5f284465d883d4361c683afee.parquet',5,'0/trade/rows',-4611686005542486016,-4611686005542486012,'f222cc95');
INSERT INTO "log_file" VALUES(6,4,'split','log/split/d925b733.1.3.2-107703de6a2f4ea4b59bc3b2663e3d91.parquet',1,'1/split/rows',-4611686001247518720,-4611686001247518720,'d98ec6a1');
INSERT INTO "log_file" VALUES(7,4,'dividend','log/dividend/d925b733.1.3.2-3071520ed070474ab502d30a041cbfe3.parquet',1,'1/dividend/rows',-4611686001247518720,-4611686001247518720,'0f49b9ba');
INSERT INTO "log_file" VALUES(8,4,'trade','log/trade/d925b733.1.3.2-b225a844db6645498e33710459ae7d90.parquet',5,'1/trade/rows',-4611686001247518720,-4611686001247518716,'601b79bf');
CREATE TABLE member (
	coordinator INTEGER NOT NULL, 
	first_epoch INTEGER NOT NULL, 
	last_epoch INTEGER, 
	awaited_since FLOAT, 
	PRIMARY KEY (coordinator, first_epoch)
);
INSERT INTO "member" VALUES(0,0,NULL,NULL);
INSERT INTO "member" VALUES(1,0,NULL,NULL);
CREATE TABLE net_table (
	id INTEGER NOT NULL, 
	relation VARCHAR(200) NOT NULL, 
	epoch INTEGER NOT NULL, 
	base INTEGER, 
	columns TEXT NOT NULL, 
	path TEXT NOT NULL, 
	rows BIGINT NOT NULL, 
	checksums TEXT NOT NULL, 
	proved BOOLEAN NOT NULL, 
	retired_by BIGINT, 
	PRIMARY KEY (id)
);
CREATE TABLE program (
	id INTEGER NOT NULL, 
	name VARCHAR(200) NOT NULL, 
	granularity VARCHAR(10) NOT NULL, 
	revision INTEGER NOT NULL, 
	last_commit BIGINT NOT NULL, 
	merge_horizon BIGINT NOT NULL, 
	token INTEGER NOT NULL, 
	coordinators INTEGER NOT NULL, 
	refreshed BIGINT, 
	format INTEGER NOT NULL, 
	forgotten BIGINT NOT NULL, 
	oldest_readable INTEGER NOT NULL, 
	token_number BIGINT NOT NULL, 
	declared VARCHAR(64), 
	generation BIGINT DEFAULT '1' NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "program" VALUES(1,'holdings','event',1,6,5,0,2,NULL,4,6,0,4,'1391876e63685b7da0e6a923dc6c4c106590930a70cdf4665088614cae243c44',1);
CREATE TABLE published (
	"view" VARCHAR(200) NOT NULL, 
	epoch INTEGER NOT NULL, 
	delta_version BIGINT NOT NULL, 
	rows BIGINT, 
	PRIMARY KEY ("view", epoch)
);
INSERT INTO "published" VALUES('shares',0,0,4);
INSERT INTO "published" VALUES('position',0,0,8);
INSERT INTO "published" VALUES('paid',0,0,0);
INSERT INTO "published" VALUES('spent',0,0,2);
INSERT INTO "published" VALUES('shares',1,1,4);
INSERT INTO "published" VALUES('position',1,1,16);
INSERT INTO "published" VALUES('paid',1,1,2);
INSERT INTO "published" VALUES('spent',1,1,2);
CREATE TABLE published_table (
	name VARCHAR(200) NOT NULL, 
	table_id VARCHAR(64) NOT NULL, 
	mark BIGINT NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "published_table" VALUES('shares','47fb1b2c-013f-4df8-a76b-183dd898ff82',4294967297);
INSERT INTO "published_table" VALUES('position','de9e412b-93f2-47a3-95dc-5ce8b40e9862',4294967297);
INSERT INTO "published_table" VALUES('paid','fd92c5f7-f8bb-4dff-a093-1c8a9d070f14',4294967297);
INSERT INTO "published_table" VALUES('spent','8f078a52-ca27-4b9d-a3da-159952e68809',4294967297);
CREATE TABLE quarantine (
	id INTEGER NOT NULL, 
	batch BIGINT NOT NULL, 
	relation VARCHAR(200) NOT NULL, 
	path TEXT NOT NULL, 
	rows BIGINT NOT NULL, 
	state VARCHAR(10) NOT NULL, 
	reasons TEXT NOT NULL, 
	source VARCHAR(400) NOT NULL, 
	transactional BOOLEAN NOT NULL, 
	checksums TEXT, 
	PRIMARY KEY (id)
);
CREATE TABLE reading_clock (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	prefix BIGINT NOT NULL, 
	exceptions TEXT NOT NULL
);
CREATE TABLE revision (
	number INTEGER NOT NULL, 
	digest VARCHAR(64) NOT NULL, 
	text TEXT NOT NULL, 
	compiled TEXT NOT NULL, 
	choices TEXT NOT NULL, 
	definition TEXT NOT NULL, 
	coordination TEXT, 
	source VARCHAR(64), 
	other VARCHAR(64), 
	since INTEGER, 
	made_at DATETIME NOT NULL, 
	base INTEGER, 
	pinned INTEGER, 
	lease BIGINT, 
	step BIGINT, 
	problem TEXT, 
	PRIMARY KEY (number)
);
INSERT INTO "revision" VALUES(1,'111a927d58cf04ca9e3a323db86b564c3d7bff492df2e0dd3a47818dc10afed2','PROGRAM holdings SEMANTICS SEQUENTIAL;

RELATION split(symbol STRING, ratio INT) ROWS 100;
RELATION dividend(symbol STRING, per_share DECIMAL(9, 4)) ROWS 1000;
RELATION trade(id INT, account INT, symbol STRING, quantity INT, price DECIMAL(9, 4)) KEY (id) ROWS 10000000;

MAP shares[symbol STRING, account INT] : INT
  MEANING ''shares held now; sold ones count below zero'';
MAP position[trade INT, symbol STRING, account INT] : INT
  MEANING ''shares held after each trade'';
MAP paid[symbol STRING, account INT] : DECIMAL(18, 4)
  MEANING ''dividends paid so far'';
MAP spent[account INT] : DECIMAL(18, 4)
  MEANING ''cash that trades have cost'';

VIEW shares[symbol STRING, account INT]
  VALUES held = shares
  COLUMNS symbol = symbol,
    account = account,
    held = held;

VIEW position[trade INT, symbol STRING, account INT]
  VALUES held = position
  COLUMNS trade = trade,
    symbol = symbol,
    account = account,
    held = held;

VIEW paid[symbol STRING, account INT]
  VALUES paid = paid
  COLUMNS symbol = symbol,
    account = account,
    paid = paid;

VIEW spent[account INT]
  VALUES spent = spent
  COLUMNS account = account,
    spent = spent;

ON +split(S, RATIO) DO {
  shares[S, a] += (RATIO - 1) * shares[S, a];
}

ON +dividend(S, PER_SHARE) DO {
  paid[S, a] += PER_SHARE * shares[S, a];
}

ON +trade(ID, A, S, QUANTITY, PRICE) DO {
  shares[S, A] += QUANTITY;
  position[ID, S, A] += shares[S, A];
  spent[A] += (QUANTITY * PRICE);
}
','{"version":3,"parts":[[0,"string",0,0,false,null],[4,"symbol",[0]],[0,"int",0,0,false,null],[4,"ratio",[2]],["",[1],[3]],[""],[5,"split",[4],[5],100,[5]],[0,"decimal",9,4,false,null],[4,"per_share",[7]],["",[1],[8]],[5,"dividend",[9],[5],1000,[5]],[4,"id",[2]],[4,"account",[2]],[4,"quantity",[2]],[4,"price",[7]],["",[11],[12],[1],[13],[14]],["","id"],[5,"trade",[15],[16],10000000,[5]],["",[6],[10],[17]],["",[1],[12]],[6,"shares",[19],[2],"shares held now; sold ones count below zero"],[4,"trade",[2]],["",[21],[1],[12]],[6,"position",[22],[2],"shares held after each trade"],[0,"decimal",18,4,false,null],[6,"paid",[19],[24],"dividends paid so far"],["",[12]],[6,"spent",[26],[24],"cash that trades have cost"],["",[20],[23],[25],[27]],["","S","RATIO"],[2,"S",[0]],[2,"a",[2]],["",[30],[31]],[2,"RATIO",[2]],[1,1,[2]],["",[33],[34]],[3,"sub",[35],[2]],[7,"shares",[32],false],["",[36],[37]],[8,"shares",[32],[38],[5]],["",[39]],[9,1,"split",[29],[40]],["","S","PER_SHARE"],[2,"PER_SHARE",[7]],["",[43],[37]],[8,"paid",[32],[44],[5]],["",[45]],[9,1,"dividend",[42],[46]],["","ID","A","S","QUANTITY","PRICE"],[2,"A",[2]],["",[30],[49]],[2,"QUANTITY",[2]],["",[51]],[8,"shares",[50],[52],[5]],[2,"ID",[2]],["",[54],[30],[49]],[7,"shares",[50],false],["",[56]],[8,"position",[55],[57],[5]],["",[49]],[2,"PRICE",[7]],["",[51],[60]],[0,"decimal",29,4,false,null],[3,"mul",[61],[62]],["",[63]],[8,"spent",[59],[64],[5]],["",[53],[58],[65]],[9,1,"trade",[48],[66]],["",[41],[47],[67]],[16,"held","shares"],["",[69]],[2,"symbol",[0]],[10,"symbol",[71]],[2,"account",[2]],[10,"account",[73]],[2,"held",[2]],[10,"held",[75]],["",[72],[74],[76]],[20,"shares",[19],[70],null,[77],null,[5],null,null,0,false,0,[5],[5]],[16,"held","position"],["",[79]],[2,"trade",[2]],[10,"trade",[81]],["",[82],[72],[74],[76]],[20,"position",[22],[80],null,[83],null,[5],null,null,0,false,0,[5],[5]],[16,"paid","paid"],["",[85]],[2,"paid",[24]],[10,"paid",[87]],["",[72],[74],[88]],[20,"paid",[19],[86],null,[89],null,[5],null,null,0,false,0,[5],[5]],[16,"spent","spent"],["",[91]],[2,"spent",[24]],[10,"spent",[93]],["",[74],[94]],[20,"spent",[26],[92],null,[95],null,[5],null,null,0,false,0,[5],[5]],["",[78],[84],[90],[96]],[21,"holdings","sequential",[18],[28],[68],[97],[5]]]}','{"format":1,"alike":[["shares"],["position"],["paid"],["spent"]],"moves":[],"copies":[["shares",[1,0],-1,null,null,0],["shares",[0],-1,null,null,0],["position",[0,2,1],-1,null,null,0],["paid",[1,0],-1,null,null,0],["spent",[0],-1,null,null,0]],"ranks":{"split":0,"dividend":1,"trade":2},"stages":{}}','{"dialect": null, "insert_only": [], "is_program": true, "keys": {}, "seals": {}}','{"barriers": [{"about": "the program", "name": "vote", "reason": "a snapshot without events that one who has not voted stamps into its epoch later"}, {"about": "the program", "name": "applied", "reason": "a snapshot, or a final partition, without a batch that is in the log"}, {"about": "the program", "name": "settle", "reason": "a snapshot without the pairs of two batches that were applied side by side, or with them twice: on +split, shares reads shares"}, {"about": "the program", "name": "checkpoint", "reason": "a published table of an epoch that differs from the epoch''s snapshot"}], "edges": [{"key": [], "label": "Run", "order": "logged", "reason": "shares depends on which of two +split comes first: +split statement 1 (shares[S, a] += (RATIO - 1) * shares[S, a]) reads what +split statement 1 (shares[S, a] += (RATIO - 1) * shares[S, a]) adds to", "source": "split", "strategy": "order", "target": "shares", "vote": false}, {"key": [], "label": "Run", "order": "logged", "reason": "shares depends on whether +trade or +split comes first: +split statement 1 (shares[S, a] += (RATIO - 1) * shares[S, a]) reads what +trade statement 1 (shares[S, A] += QUANTITY) adds to", "source": "trade", "strategy": "order", "target": "shares", "vote": false}, {"key": [], "label": "Run", "order": "logged", "reason": "shares depends on which of two +split comes first: +split statement 1 (shares[S, a] += (RATIO - 1) * shares[S, a]) reads what +split statement 1 (shares[S, a] += (RATIO - 1) * shares[S, a]) adds to", "source": "split", "strategy": "order", "target": "position", "vote": false}, {"key": [], "label": "Run", "order": "logged", "reason": "shares depends on whether +trade or +split comes first: +split statement 1 (shares[S, a] += (RATIO - 1) * shares[S, a]) reads what +trade statement 1 (shares[S, A] += QUANTITY) adds to", "source": "trade", "strategy": "order", "target": "position", "vote": false}, {"key": [], "label": "Run", "order": "logged", "reason": "shares depends on which of two +split comes first: +split statement 1 (shares[S, a] += (RATIO - 1) * shares[S, a]) reads what +split statement 1 (shares[S, a] += (RATIO - 1) * shares[S, a]) adds to", "source": "split", "strategy": "order", "target": "paid", "vote": false}, {"key": [], "label": "Run", "order": "logged", "reason": "paid depends on whether +split or +dividend comes first: +dividend statement 1 (paid[S, a] += PER_SHARE * shares[S, a]) reads what +split statement 1 (shares[S, a] += (RATIO - 1) * shares[S, a]) adds to", "source": "dividend", "strategy": "order", "target": "paid", "vote": false}, {"key": [], "label": "Run", "order": "logged", "reason": "shares depends on whether +trade or +split comes first: +split statement 1 (shares[S, a] += (RATIO - 1) * shares[S, a]) reads what +trade statement 1 (shares[S, A] += QUANTITY) adds to", "source": "trade", "strategy": "order", "target": "paid", "vote": false}, {"key": [], "label": "Async", "order": null, "reason": "any order of its events ends in the same maps", "source": "trade", "strategy": "none", "target": "spent", "vote": false}, {"key": [], "label": "Run", "order": "logged", "reason": "what its maps hold depends on the order of events; its rows are kept apart by symbol (split.symbol, trade.symbol), but split and trade are not sealed", "source": "shares", "strategy": "order", "target": "answers", "vote": false}, {"key": [], "label": "Run", "order": "logged", "reason": "what its maps hold depends on the order of events; its rows are kept apart by symbol (split.symbol, trade.symbol), but split and trade are not sealed", "source": "position", "strategy": "order", "target": "answers", "vote": false}, {"key": [], "label": "Run", "order": "logged", "reason": "what its maps hold depends on the order of events; its rows are kept apart by symbol (split.symbol, dividend.symbol, trade.symbol), but split and dividend and trade are not sealed", "source": "paid", "strategy": "order", "target": "answers", "vote": false}, {"key": [], "label": "Run", "order": "logged", "reason": "what it joins, or compares, may take rows away (NOT EXISTS, outer joins, windows, differences); its rows are kept apart by account (trade.account), but trade is not sealed", "source": "spent", "strategy": "order", "target": "answers", "vote": false}], "notes": [], "scheme": "event", "verdicts": [{"grain": "event", "reason": "shares depends on which of two +split comes first: +split statement 1 (shares[S, a] += (RATIO - 1) * shares[S, a]) reads what +split statement 1 (shares[S, a] += (RATIO - 1) * shares[S, a]) adds to", "relation": "split"}, {"grain": "event", "reason": "paid depends on whether +split or +dividend comes first: +dividend statement 1 (paid[S, a] += PER_SHARE * shares[S, a]) reads what +split statement 1 (shares[S, a] += (RATIO - 1) * shares[S, a]) adds to", "relation": "dividend"}, {"grain": "event", "reason": "shares depends on whether +trade or +split comes first: +split statement 1 (shares[S, a] += (RATIO - 1) * shares[S, a]) reads what +trade statement 1 (shares[S, A] += QUANTITY) adds to", "relation": "trade"}], "views": [{"advice": "seal split on symbol and trade on symbol (`seals:` in cumulus.yaml): then rows of one symbol are final when it is sealed", "coordinated": "Async", "final": "committed", "label": "Run", "reason": "what its maps hold depends on the order of events; its rows are kept apart by symbol (split.symbol, trade.symbol), but split and trade are not sealed", "seals": [], "view": "shares"}, {"advice": "seal split on symbol and trade on symbol (`seals:` in cumulus.yaml): then rows of one symbol are final when it is sealed", "coordinated": "Async", "final": "committed", "label": "Run", "reason": "what its maps hold depends on the order of events; its rows are kept apart by symbol (split.symbol, trade.symbol), but split and trade are not sealed", "seals": [], "view": "position"}, {"advice": "seal split on symbol and dividend on symbol and trade on symbol (`seals:` in cumulus.yaml): then rows of one symbol are final when it is sealed", "coordinated": "Async", "final": "committed", "label": "Run", "reason": "what its maps hold depends on the order of events; its rows are kept apart by symbol (split.symbol, dividend.symbol, trade.symbol), but split and dividend and trade are not sealed", "seals": [], "view": "paid"}, {"advice": "seal trade on account (`seals:` in cumulus.yaml): then rows of one account are final when it is sealed", "coordinated": "Async", "final": "committed", "label": "Run", "reason": "what it joins, or compares, may take rows away (NOT EXISTS, outer joins, windows, differences); its rows are kept apart by account (trade.account), but trade is not sealed", "seals": [], "view": "spent"}]}','2f24678f6a4367b6362d39a631302ab9f5680fe858c80b5f52af53989f6491f1',NULL,0,'2026-11-24 13:02:00.546419',NULL,NULL,NULL,NULL,NULL);
CREATE TABLE run (
	id INTEGER NOT NULL, 
	map VARCHAR(400) NOT NULL, 
	access_path VARCHAR(200) NOT NULL, 
	path TEXT NOT NULL, 
	"offset" BIGINT NOT NULL, 
	"commit" BIGINT NOT NULL, 
	origin BIGINT NOT NULL, 
	min_version BIGINT NOT NULL, 
	max_version BIGINT NOT NULL, 
	rows BIGINT NOT NULL, 
	bytes BIGINT NOT NULL, 
	retired_by BIGINT, 
	PRIMARY KEY (id)
);
INSERT INTO "run" VALUES(21,'paid','1.0','runs/d925b733.1.3.3-f55eeacb6dfe4872839344a5f1aa1d0e.pack',10432,5,5,1103806595200,1103806595200,2,2027,NULL);
INSERT INTO "run" VALUES(22,'shares','1.0','runs/d925b733.1.3.6-5c891a63b2a64694b10e5fc651d889f7.pack',0,6,5,1099511627775,2199023255551,8,2731,NULL);
INSERT INTO "run" VALUES(23,'shares','0','runs/d925b733.1.3.6-5c891a63b2a64694b10e5fc651d889f7.pack',2752,6,5,1099511627775,2199023255551,8,2819,NULL);
INSERT INTO "run" VALUES(24,'spent','0','runs/d925b733.1.3.6-5c891a63b2a64694b10e5fc651d889f7.pack',5632,6,5,1099511627775,2199023255551,4,2091,NULL);
INSERT INTO "run" VALUES(25,'position','0.2.1','runs/d925b733.1.3.6-5c891a63b2a64694b10e5fc651d889f7.pack',7744,6,5,1099511627775,2199023255551,16,3083,NULL);
CREATE TABLE seal_producer (
	value BIGINT NOT NULL, 
	coordinator INTEGER NOT NULL, 
	registered_at FLOAT NOT NULL, 
	sealed_at FLOAT, 
	sealed_by VARCHAR(200), 
	PRIMARY KEY (value, coordinator)
);
CREATE TABLE seal_value (
	id INTEGER NOT NULL, 
	relation VARCHAR(200) NOT NULL, 
	seal VARCHAR(200) NOT NULL, 
	value VARCHAR(400) NOT NULL, 
	columns TEXT NOT NULL, 
	producers VARCHAR(10) NOT NULL, 
	first_seen FLOAT NOT NULL, 
	closed_at BIGINT, 
	finalised BOOLEAN, 
	PRIMARY KEY (id), 
	UNIQUE (relation, seal, value)
);
CREATE TABLE snapshot (
	epoch INTEGER NOT NULL, 
	version BIGINT NOT NULL, 
	"commit" BIGINT NOT NULL, 
	entries BIGINT NOT NULL, 
	seconds FLOAT NOT NULL, 
	committed_at DATETIME NOT NULL, 
	repeats INTEGER, 
	now BIGINT, 
	PRIMARY KEY (epoch)
);
INSERT INTO "snapshot" VALUES(0,1099511627775,2,24,2.61138179994304664433e-02,'2026-11-24 13:02:01.131658',NULL,NULL);
INSERT INTO "snapshot" VALUES(1,2199023255551,5,42,2.2597652001422829926e-02,'2026-11-24 13:02:01.731986',NULL,NULL);
CREATE TABLE source_epoch (
	source VARCHAR(200) NOT NULL, 
	epoch BIGINT NOT NULL, 
	position TEXT NOT NULL, 
	PRIMARY KEY (source, epoch)
);
CREATE TABLE source_position (
	source VARCHAR(200) NOT NULL, 
	position TEXT NOT NULL, 
	PRIMARY KEY (source)
);
CREATE TABLE source_problem (
	source VARCHAR(200) NOT NULL, 
	problem TEXT NOT NULL, 
	since FLOAT NOT NULL, 
	PRIMARY KEY (source)
);
CREATE TABLE step_problem (
	step VARCHAR(40) NOT NULL, 
	coordinator INTEGER NOT NULL, 
	kind VARCHAR(100) NOT NULL, 
	problem TEXT NOT NULL, 
	log TEXT NOT NULL, 
	since FLOAT NOT NULL, 
	at FLOAT NOT NULL, 
	times INTEGER NOT NULL, 
	PRIMARY KEY (step, coordinator)
);
CREATE TABLE validation (
	epoch INTEGER NOT NULL, 
	failures TEXT NOT NULL, 
	report TEXT NOT NULL, 
	seconds FLOAT NOT NULL, 
	validated_at DATETIME NOT NULL, 
	outcome VARCHAR(10) NOT NULL, 
	verdicts TEXT, 
	views INTEGER, 
	PRIMARY KEY (epoch)
);
CREATE TABLE view_error (
	"view" VARCHAR(200) NOT NULL, 
	epoch INTEGER NOT NULL, 
	kind VARCHAR(100) NOT NULL, 
	message TEXT NOT NULL, 
	place TEXT NOT NULL, 
	hint TEXT NOT NULL, 
	PRIMARY KEY ("view", epoch)
);
CREATE TABLE vote (
	coordinator INTEGER NOT NULL, 
	epoch INTEGER NOT NULL, 
	voted_at DATETIME NOT NULL, 
	fenced_by INTEGER, 
	reason TEXT, 
	PRIMARY KEY (coordinator, epoch)
);
INSERT INTO "vote" VALUES(0,0,'2026-11-24 13:02:01.090372',NULL,NULL);
INSERT INTO "vote" VALUES(1,0,'2026-11-24 13:02:01.101815',NULL,NULL);
INSERT INTO "vote" VALUES(0,1,'2026-11-24 13:02:01.675580',NULL,NULL);
INSERT INTO "vote" VALUES(1,1,'2026-11-24 13:02:01.692008',NULL,NULL);
CREATE INDEX ix_batch_state ON batch (state, coordinator);
CREATE INDEX ix_batch_clock ON batch (clock);
CREATE INDEX ix_batch_epoch ON batch (epoch);
CREATE INDEX ix_batch_retry_of ON batch (retry_of);
CREATE INDEX ix_log_file_batch ON log_file (batch);
CREATE INDEX ix_net_table_retired_by ON net_table (retired_by);
CREATE INDEX ix_quarantine_batch ON quarantine (batch);
CREATE INDEX ix_delivery_digest ON delivery (digest);
CREATE INDEX ix_file_aside_batch ON file_aside (batch);
CREATE INDEX ix_key_run_retired_by ON key_run (retired_by);
CREATE INDEX ix_key_run_path ON key_run (path);
CREATE INDEX ix_key_run_relation ON key_run (relation);
CREATE INDEX ix_run_commit ON run ("commit");
CREATE INDEX ix_run_retired_by ON run (retired_by);
CREATE INDEX ix_run_path ON run (path);
CREATE INDEX ix_seal_value_closed_at ON seal_value (closed_at);
CREATE INDEX ix_seal_value_closed ON seal_value (relation, seal, closed_at);
CREATE INDEX ix_seal_value_not_finalised ON seal_value (finalised, closed_at);
CREATE INDEX ix_final_partition_delta_version ON final_partition (delta_version);
CREATE INDEX ix_final_partition_verdict ON final_partition (verdict);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('lease',4);
INSERT INTO "sqlite_sequence" VALUES('reading_clock',6);
COMMIT;
