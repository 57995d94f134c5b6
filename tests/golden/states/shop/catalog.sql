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
INSERT INTO "batch" VALUES(1,0,'d0',0,0,7,7,0,1,0,1,0,'retired',1,1.38550453000789275392e-01,0,2,1,0,1,NULL,NULL,NULL,NULL,'',0,NULL,NULL);
INSERT INTO "batch" VALUES(2,1,'d0',0,0,5,5,0,1,0,2,2,'retired',3,1.85110632999567314982e-01,0,2,3,0,1,NULL,NULL,NULL,NULL,'',0,NULL,NULL);
INSERT INTO "batch" VALUES(3,0,'d1',1,0,13,7,6,1,0,1,5,'retired',6,1.19004786000004969537e-01,0,3,1,0,1,NULL,NULL,NULL,NULL,'',0,NULL,NULL);
INSERT INTO "batch" VALUES(4,1,'d1',1,0,9,5,4,1,0,2,7,'retired',8,1.08643453997501637786e-01,0,3,3,0,1,NULL,NULL,NULL,NULL,'',0,NULL,NULL);
INSERT INTO "batch" VALUES(5,0,'d2',2,0,13,7,6,1,0,1,12,'retired',13,1.40680921998864505439e-01,0,5,1,0,1,NULL,NULL,NULL,NULL,'',0,NULL,NULL);
INSERT INTO "batch" VALUES(6,1,'d2',2,0,9,5,4,1,0,2,14,'retired',15,2.12587171001359820365e-01,0,5,3,0,1,NULL,NULL,NULL,NULL,'',0,NULL,NULL);
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
INSERT INTO "boundary" VALUES(2,0,1767484800.0,'clock');
INSERT INTO "boundary" VALUES(2,1,1767528000.0,'clock');
CREATE TABLE "commit" (
	number BIGINT NOT NULL, 
	kind VARCHAR(10) NOT NULL, 
	committed_at DATETIME NOT NULL, 
	rows BIGINT NOT NULL, 
	PRIMARY KEY (number)
);
INSERT INTO "commit" VALUES(1,'apply','2026-11-24 13:01:45.558248',22);
INSERT INTO "commit" VALUES(2,'refresh','2026-11-24 13:01:45.560142',7);
INSERT INTO "commit" VALUES(3,'apply','2026-11-24 13:01:46.022489',20);
INSERT INTO "commit" VALUES(4,'refresh','2026-11-24 13:01:46.023359',19);
INSERT INTO "commit" VALUES(5,'merge','2026-11-24 13:01:46.478295',47);
INSERT INTO "commit" VALUES(6,'apply','2026-11-24 13:01:47.566658',45);
INSERT INTO "commit" VALUES(7,'refresh','2026-11-24 13:01:47.567530',25);
INSERT INTO "commit" VALUES(8,'apply','2026-11-24 13:01:47.847476',33);
INSERT INTO "commit" VALUES(9,'refresh','2026-11-24 13:01:47.848292',27);
INSERT INTO "commit" VALUES(10,'merge','2026-11-24 13:01:48.216409',138);
INSERT INTO "commit" VALUES(11,'fill','2026-11-24 13:01:48.869408',6);
INSERT INTO "commit" VALUES(12,'switch','2026-11-24 13:01:48.919845',0);
INSERT INTO "commit" VALUES(13,'apply','2026-11-24 13:01:49.620554',51);
INSERT INTO "commit" VALUES(14,'refresh','2026-11-24 13:01:49.638255',32);
INSERT INTO "commit" VALUES(15,'apply','2026-11-24 13:01:50.019574',39);
INSERT INTO "commit" VALUES(16,'refresh','2026-11-24 13:01:50.020328',33);
INSERT INTO "commit" VALUES(17,'merge','2026-11-24 13:01:50.502290',248);
CREATE TABLE consumption (
	epoch INTEGER NOT NULL, 
	consumer VARCHAR(20) NOT NULL, 
	outcome VARCHAR(10) NOT NULL, 
	recorded_at DATETIME NOT NULL, 
	PRIMARY KEY (epoch, consumer)
);
CREATE TABLE coordinator (
	"index" INTEGER NOT NULL, 
	epoch INTEGER NOT NULL, 
	next_sequence BIGINT NOT NULL, 
	sealed_values BIGINT DEFAULT '0' NOT NULL, 
	PRIMARY KEY ("index")
);
INSERT INTO "coordinator" VALUES(0,3,0,2);
INSERT INTO "coordinator" VALUES(1,3,0,2);
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
INSERT INTO "delivery" VALUES(1,0,'d0',1.79552529338015031809e+09,'1660259:1795525293380150218','{"customers.csv": [42, 1795525293380150218, "747d60562589079319925c2b736b553b"], "orders.csv": [194, 1795525293380129267, "dd07628025b5b3923ea97317501d5eaa"]}','21cd5fb952b5c3f6e2a33e5ffad5a6130b254acb549dbc6785c09ca8d9a6f7ad','');
INSERT INTO "delivery" VALUES(2,1,'d0',1.79552529338021850586e+09,'1660264:1795525293380218420','{"orders.csv": [205, 1795525293380218420, "6b7bc6eb1da892cb8365333b9e68efb8"]}','dc4cc4134999033d4ee5c46b564140f5171815493ab049af4aafc17b1487311c','');
INSERT INTO "delivery" VALUES(3,0,'d1',1.7955253070040912628e+09,'1662238:1795525307004091197','{"customers.csv": [42, 1795525307004091197, "5b3874d9be418857156166396820c074"], "orders.csv": [319, 1795525307004038328, "12b5f03feea3909b5526efc5738a92ae"], "orders.day.seal.csv": [17, 1795525307004072069, "7cb73d0bd4c1f4e5e468bfae0512dfd2"]}','58844f06decfe22660258f4e286b3f76c562902bfb67f564ef77f233c4b68cd4','');
INSERT INTO "delivery" VALUES(4,1,'d1',1.79552530700418853763e+09,'1662243:1795525307004188543','{"orders.csv": [327, 1795525307004169594, "ae4f3a1bff2ac6e1f97ba73d1b67b63f"], "orders.day.seal.csv": [17, 1795525307004188543, "7cb73d0bd4c1f4e5e468bfae0512dfd2"]}','c855de4a2aad763622f5d6fe4e359ef0f93c27b35c4969ee7520ca5109ae4d80','');
INSERT INTO "delivery" VALUES(5,0,'d2',1.79552530838382267946e+09,'1662272:1795525308383822617','{"customers.csv": [42, 1795525308383822617, "755248c32ea62f39504a807e3ba6b9a7"], "orders.csv": [373, 1795525308383777940, "b1c02fc66da4caa79d53a9b652b5ef55"], "orders.day.seal.csv": [17, 1795525308383804490, "515e588c073578e0a21ed00854a222c7"]}','f01517009f310c7d6dac4a442a877978fb0fa969f41b2f661f686b3418b75eb4','');
INSERT INTO "delivery" VALUES(6,1,'d2',1.79552530838390898707e+09,'1662277:1795525308383909106','{"orders.csv": [373, 1795525308383892210, "20a0689392b4af44e4b6ad2183a2bf57"], "orders.day.seal.csv": [17, 1795525308383909106, "515e588c073578e0a21ed00854a222c7"]}','494eb809fc15c331da2d8c7e9f5403fcbee6f2ae3b0b6c19f85fc41c5ae35da2','');
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
INSERT INTO "final_partition" VALUES('days',1,8,1,NULL,1.79552530796468019485e+09,NULL,NULL);
INSERT INTO "final_partition" VALUES('days',2,15,1,NULL,1.79552531013221073155e+09,NULL,NULL);
CREATE TABLE installation (
	id INTEGER NOT NULL, 
	name VARCHAR(32) NOT NULL, 
	generation BIGINT NOT NULL, 
	home TEXT, 
	PRIMARY KEY (id)
);
INSERT INTO "installation" VALUES(1,'520d8fa92fa44db1',1,'{"catalog":"","inode":1,"state":"/srv"}');
CREATE TABLE key_index (
	relation VARCHAR(200) NOT NULL, 
	version BIGINT NOT NULL, 
	signature VARCHAR(64) NOT NULL, 
	covers BIGINT NOT NULL, 
	PRIMARY KEY (relation)
);
INSERT INTO "key_index" VALUES('customers',4,'033e11ffc85e9b7872cb732cac042aacccef6f628b61cba9a19c81d5b58e9a06',8);
INSERT INTO "key_index" VALUES('orders',8,'95ff43976db95262b460c3a6f2e9f7e6c3c27d7d7943c2f02dd031fe86591c37',9);
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
INSERT INTO "key_run" VALUES(2,'customers','keys/520d8fa9.1.2.0-f67b5b1b25784ff784efd50e52c99ddc.keys',2752,2139,2,1019344133574988336,8196132271857397089,2,2,NULL);
INSERT INTO "key_run" VALUES(5,'customers','keys/520d8fa9.1.3.0-457a68d38e96404b832e0d3add7ef655.keys',3200,2155,2,1019344133574988336,8196132271857397089,3,3,NULL);
INSERT INTO "key_run" VALUES(7,'orders','keys/520d8fa9.1.5.0-9b5702caaad0448d83374f78304a1e0d.keys',0,3491,12,4,114,6,6,NULL);
INSERT INTO "key_run" VALUES(8,'orders','keys/520d8fa9.1.5.0-26c643858e3e491eab9c548fb686d424.keys',0,3467,9,100,204,7,7,NULL);
INSERT INTO "key_run" VALUES(9,'customers','keys/520d8fa9.1.5.0-26c643858e3e491eab9c548fb686d424.keys',3520,2155,2,1019344133574988336,8196132271857397089,4,4,NULL);
INSERT INTO "key_run" VALUES(10,'orders','keys/520d8fa9.1.5.2-0635a8bd68394e08be2f72b099dc3135.keys',0,3467,9,110,214,8,8,NULL);
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
INSERT INTO "log_file" VALUES(1,1,'orders','log/orders/520d8fa9.1.2.0-353ca2c29c6d4272a1e310516807582f.parquet',5,'0/orders/rows',-4611686014132420608,-4611686014132420604,'6062c698');
INSERT INTO "log_file" VALUES(2,1,'customers','log/customers/520d8fa9.1.2.0-9b25e627383a4003aa9485d2184e740f.parquet',2,'0/customers/rows',-4611686014132420608,-4611686014132420607,'a3aa1226');
INSERT INTO "log_file" VALUES(3,2,'orders','log/orders/520d8fa9.1.2.2-e668648036144d3aa8a643e45852c278.parquet',5,'1/orders/rows',-4611686009837453312,-4611686009837453308,'4cccd6d4');
INSERT INTO "log_file" VALUES(4,3,'orders','log/orders/520d8fa9.1.3.0-338dfb449f6d44cfaa9a746458cdf862.parquet',9,'0/orders/rows',-4611686005542486016,-4611686005542486008,'ae98d475');
INSERT INTO "log_file" VALUES(5,3,'customers','log/customers/520d8fa9.1.3.0-0a8fa75af4614eda8221707e3b2438f2.parquet',4,'0/customers/rows',-4611686005542486016,-4611686005542486015,'acf3e70e');
INSERT INTO "log_file" VALUES(6,4,'orders','log/orders/520d8fa9.1.3.2-1e960c3bf4eb4d52a47c4153251b765c.parquet',9,'1/orders/rows',-4611686001247518720,-4611686001247518712,'14305c75');
INSERT INTO "log_file" VALUES(7,5,'orders','log/orders/520d8fa9.1.5.0-a8e7b73556654a85a9f911c0814e50c7.parquet',9,'0/orders/rows',-4611685996952551424,-4611685996952551416,'b537ce48');
INSERT INTO "log_file" VALUES(8,5,'customers','log/customers/520d8fa9.1.5.0-50ff16d82b04427db712f177b2a4c502.parquet',4,'0/customers/rows',-4611685996952551424,-4611685996952551423,'90528d91');
INSERT INTO "log_file" VALUES(9,6,'orders','log/orders/520d8fa9.1.5.2-8e3d23bd95d545318ce4d3262c42df4a.parquet',9,'1/orders/rows',-4611685992657584128,-4611685992657584120,'4d15b2fe');
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
INSERT INTO "net_table" VALUES(1,'orders',0,NULL,'["o_id", "o_customer", "o_price", "o_day", "o_note"]','net/orders/520d8fa9.1.2.8-5273cbfd8ce14e578565e3e29ffddf27.parquet',10,'f1c57cc4',0,NULL);
INSERT INTO "net_table" VALUES(2,'customers',0,NULL,'["c_name", "c_city"]','net/customers/520d8fa9.1.2.9-826a80934ecd4470ac1d4bf251b2e1fb.parquet',2,'17fa1484',0,NULL);
INSERT INTO "net_table" VALUES(3,'orders',1,0,'["o_id", "o_customer", "o_price", "o_day", "o_note"]','net/orders/520d8fa9.1.3.11-83403b8a6044414ba50417bd6c465848.parquet',12,'8cf1a5c4',0,NULL);
INSERT INTO "net_table" VALUES(4,'customers',1,0,'["c_name", "c_city"]','net/customers/520d8fa9.1.3.12-8cd23f5d886f4f0c85380a2595851d9b.parquet',2,'4b97654e',0,NULL);
INSERT INTO "net_table" VALUES(5,'orders',2,NULL,'["o_id", "o_customer", "o_price", "o_day", "o_note", "o_channel"]','net/orders/520d8fa9.1.5.11-3cb39d916e5b45e8b649a04f8f7216cf.parquet',14,'b1b62321',0,NULL);
INSERT INTO "net_table" VALUES(6,'customers',2,1,'["c_name", "c_city"]','net/customers/520d8fa9.1.5.12-d39e5fccee124b33a9e68b24ba564ea3.parquet',2,'767e3717',0,NULL);
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
INSERT INTO "program" VALUES(1,'shop','batch',2,17,15,0,2,15,4,17,0,6,'ca80d273ea5d3b3ace203175e3659a748287a6b43982d0284a2f7ab44619f0be',1);
CREATE TABLE published (
	"view" VARCHAR(200) NOT NULL, 
	epoch INTEGER NOT NULL, 
	delta_version BIGINT NOT NULL, 
	rows BIGINT, 
	PRIMARY KEY ("view", epoch)
);
CREATE TABLE published_table (
	name VARCHAR(200) NOT NULL, 
	table_id VARCHAR(64) NOT NULL, 
	mark BIGINT NOT NULL, 
	PRIMARY KEY (name)
);
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
INSERT INTO "quarantine" VALUES(1,1,'orders','quarantine/orders/520d8fa9.1.2.0-209e52c719264cfebdf505abed9aace2.parquet',1,'kept','{"not-a-decimal": 1}','0/orders',0,'9acc6520');
INSERT INTO "quarantine" VALUES(2,2,'orders','quarantine/orders/520d8fa9.1.2.2-105e32c0e6c8423ab0c11509ea760006.parquet',1,'kept','{"not-a-decimal": 1}','1/orders',0,'56ad1ebf');
INSERT INTO "quarantine" VALUES(3,3,'orders','quarantine/orders/520d8fa9.1.3.0-cda02966136c48d686bb96af292b49f8.parquet',1,'kept','{"not-a-decimal": 1}','0/orders',0,'326c2a3b');
INSERT INTO "quarantine" VALUES(4,4,'orders','quarantine/orders/520d8fa9.1.3.2-0f0949bdec154d2d98b0e9a3d5177ce7.parquet',1,'kept','{"not-a-decimal": 1}','1/orders',0,'2c977f33');
INSERT INTO "quarantine" VALUES(5,5,'orders','quarantine/orders/520d8fa9.1.5.0-94c4f318536c452196f06253aab14bc4.parquet',1,'kept','{"not-a-decimal": 1}','0/orders',0,'bd134f8e');
INSERT INTO "quarantine" VALUES(6,6,'orders','quarantine/orders/520d8fa9.1.5.2-8782c87edd1b4e6880d9f10a3f592983.parquet',1,'kept','{"not-a-decimal": 1}','1/orders',0,'c94cfe2b');
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
INSERT INTO "revision" VALUES(1,'f42d696ebc6cccadc3851c83b5b1bfb7251fb0086dd2a790675f8c3a4218a330','PROGRAM shop SEMANTICS SNAPSHOT;

RELATION orders(o_id INT, o_customer STRING, o_price DECIMAL(15, 2), o_day DATE, o_note STRING NULL) KEY (o_id) ROWS 1000;
RELATION customers(c_name STRING, c_city STRING NULL) KEY (c_name);

MAP cities_groups_count[c_city STRING NULL] : INT
  MEANING ''SELECT customers.c_city, COUNT(*) FROM orders, customers WHERE orders.o_customer = customers.c_name GROUP BY customers.c_city'';
MAP cities_groups_money[c_city STRING NULL] : DECIMAL(25, 2)
  MEANING ''SELECT customers.c_city, SUM(orders.o_price) FROM orders, customers WHERE orders.o_customer = customers.c_name GROUP BY customers.c_city'';
MAP cities_groups_most[c_city STRING NULL, value0 DECIMAL(15, 2)] : INT
  MEANING ''SELECT customers.c_city, orders.o_price, COUNT(*) FROM orders, customers WHERE orders.o_customer = customers.c_name GROUP BY customers.c_city, orders.o_price'';
MAP places_windows_rows[part_1 STRING, o_id INT, o_customer STRING, o_price DECIMAL(15, 2)] : INT
  MEANING ''SELECT orders.o_customer, orders.o_id, orders.o_customer, orders.o_price, COUNT(*) FROM orders GROUP BY orders.o_customer, orders.o_id, orders.o_customer, orders.o_price'';
MAP notes_count[o_customer STRING] : INT
  MEANING ''SELECT orders.o_customer, COUNT(*) FROM orders GROUP BY orders.o_customer'';
MAP notes_notes[o_customer STRING, value1 INT, value0 STRING NULL] : INT
  MEANING ''SELECT orders.o_customer, orders.o_id, orders.o_note, COUNT(*) FROM orders GROUP BY orders.o_customer, orders.o_id, orders.o_note'';
MAP days_count[o_day DATE] : INT
  MEANING ''SELECT orders.o_day, COUNT(*) FROM orders GROUP BY orders.o_day'';
MAP days_mean_sum[o_day DATE] : DECIMAL(25, 2)
  MEANING ''SELECT orders.o_day, SUM(orders.o_price) FROM orders GROUP BY orders.o_day'';
MAP m_customers_1[c_city STRING NULL, o_customer STRING] : INT
  MEANING ''SELECT customers.c_city, customers.c_name, COUNT(*) FROM customers GROUP BY customers.c_city, customers.c_name'';
MAP m_orders_1[o_customer STRING] : DECIMAL(25, 2)
  MEANING ''SELECT orders.o_customer, SUM(orders.o_price) FROM orders GROUP BY orders.o_customer'';
MAP m_orders_2[o_customer STRING, value0 DECIMAL(15, 2)] : INT
  MEANING ''SELECT orders.o_customer, orders.o_price, COUNT(*) FROM orders GROUP BY orders.o_customer, orders.o_price'';
MAP cities_groups[c_city STRING NULL, n INT, money_2 DECIMAL(25, 2), most_2 DECIMAL(15, 2) NULL] : INT
  MEANING ''one row per (c_city)'';
MAP places_windows[part_1 STRING, o_id INT, o_customer STRING, o_price DECIMAL(15, 2), w_1 INT] : INT
  MEANING ''rows with the results of window functions'';

DERIVE cities_groups[c_city]
  FROM count = cities_groups_count, money = cities_groups_money, most = MAX(cities_groups_most)
  SELECT n = count,
    money_2 = money,
    most_2 = most
  COUNT CASE WHEN count > 0 THEN 1 ELSE 0 END;
WINDOW places_windows FROM places_windows_rows PARTITION 1
  SELECT rank() :: INT OVER (ORDER BY o_price DESC NULLS LAST);

VIEW cities[c_city STRING NULL, n INT, money_2 DECIMAL(25, 2), most_2 DECIMAL(15, 2) NULL]
  ROWS cities_groups
  COLUMNS c_city = c_city,
    n = n,
    money = money_2,
    most = most_2
  SQL ''SELECT c_city, COUNT(*) AS n, SUM(o_price) AS money, MAX(o_price) AS most FROM orders JOIN customers ON o_customer = c_name GROUP BY c_city'';

VIEW places[part_1 STRING, o_id INT, o_customer STRING, o_price DECIMAL(15, 2), w_1 INT]
  ROWS places_windows
  COLUMNS o_id = o_id,
    place = w_1
  SQL ''SELECT o_id, RANK() OVER (PARTITION BY o_customer ORDER BY o_price DESC) AS place FROM orders'';

VIEW notes[o_customer STRING]
  LISTS notes = LIST(notes_notes[o_customer] ORDER ASC NULLS FIRST)
  EXISTS notes_count
  COLUMNS o_customer = o_customer,
    notes = notes
  SQL ''SELECT o_customer, ARRAY_AGG(o_note ORDER BY o_id) AS notes FROM orders GROUP BY o_customer'';

VIEW days[o_day DATE]
  VALUES count = days_count, mean_sum = days_mean_sum
  EXISTS days_count
  COLUMNS o_day = o_day,
    n = count,
    mean = mean_sum / count
  SQL ''SELECT o_day, COUNT(*) AS n, AVG(o_price) AS mean FROM orders GROUP BY o_day'';

ON +orders(o_id, o_customer, o_price, o_day, o_note) DO {
  cities_groups_count[c_city] += m_customers_1[c_city, o_customer];
  cities_groups_money[c_city] += o_price * m_customers_1[c_city, o_customer];
  cities_groups_most[c_city, o_price] += m_customers_1[c_city, o_customer];
  places_windows_rows[o_customer, o_id, o_customer, o_price] += 1;
  notes_count[o_customer] += 1;
  notes_notes[o_customer, o_id, o_note] += 1;
  days_count[o_day] += 1;
  days_mean_sum[o_day] += o_price;
  m_orders_1[o_customer] += o_price;
  m_orders_2[o_customer, o_price] += 1;
}

ON -orders(o_id, o_customer, o_price, o_day, o_note) DO {
  cities_groups_count[c_city] += -1 * m_customers_1[c_city, o_customer];
  cities_groups_money[c_city] += -1 * o_price * m_customers_1[c_city, o_customer];
  cities_groups_most[c_city, o_price] += -1 * m_customers_1[c_city, o_customer];
  places_windows_rows[o_customer, o_id, o_customer, o_price] += -1;
  notes_count[o_customer] += -1;
  notes_notes[o_customer, o_id, o_note] += -1;
  days_count[o_day] += -1;
  days_mean_sum[o_day] += -1 * o_price;
  m_orders_1[o_customer] += -1 * o_price;
  m_orders_2[o_customer, o_price] += -1;
}

ON +customers(c_name, c_city) DO {
  cities_groups_count[c_city] += notes_count[c_name];
  cities_groups_money[c_city] += m_orders_1[c_name];
  cities_groups_most[c_city, value0] += m_orders_2[c_name, value0];
  m_customers_1[c_city, c_name] += 1;
}

ON -customers(c_name, c_city) DO {
  cities_groups_count[c_city] += -1 * notes_count[c_name];
  cities_groups_money[c_city] += -1 * m_orders_1[c_name];
  cities_groups_most[c_city, value0] += -1 * m_orders_2[c_name, value0];
  m_customers_1[c_city, c_name] += -1;
}
','{"version":3,"parts":[[0,"int",0,0,false,null],[4,"o_id",[0]],[0,"string",0,0,false,null],[4,"o_customer",[2]],[0,"decimal",15,2,false,null],[4,"o_price",[4]],[0,"date",0,0,false,null],[4,"o_day",[6]],[0,"string",0,0,true,null],[4,"o_note",[8]],["",[1],[3],[5],[7],[9]],["","o_id"],[""],[5,"orders",[10],[11],1000,[12]],[4,"c_name",[2]],[4,"c_city",[8]],["",[14],[15]],["","c_name"],[5,"customers",[16],[17],null,[12]],["",[13],[18]],["",[15]],[6,"cities_groups_count",[20],[0],"SELECT customers.c_city, COUNT(*) FROM orders, customers WHERE orders.o_customer = customers.c_name GROUP BY customers.c_city"],[0,"decimal",25,2,false,null],[6,"cities_groups_money",[20],[22],"SELECT customers.c_city, SUM(orders.o_price) FROM orders, customers WHERE orders.o_customer = customers.c_name GROUP BY customers.c_city"],[4,"value0",[4]],["",[15],[24]],[6,"cities_groups_most",[25],[0],"SELECT customers.c_city, orders.o_price, COUNT(*) FROM orders, customers WHERE orders.o_customer = customers.c_name GROUP BY customers.c_city, orders.o_price"],[4,"part_1",[2]],["",[27],[1],[3],[5]],[6,"places_windows_rows",[28],[0],"SELECT orders.o_customer, orders.o_id, orders.o_customer, orders.o_price, COUNT(*) FROM orders GROUP BY orders.o_customer, orders.o_id, orders.o_customer, orders.o_price"],["",[3]],[6,"notes_count",[30],[0],"SELECT orders.o_customer, COUNT(*) FROM orders GROUP BY orders.o_customer"],[4,"value1",[0]],[4,"value0",[8]],["",[3],[32],[33]],[6,"notes_notes",[34],[0],"SELECT orders.o_customer, orders.o_id, orders.o_note, COUNT(*) FROM orders GROUP BY orders.o_customer, orders.o_id, orders.o_note"],["",[7]],[6,"days_count",[36],[0],"SELECT orders.o_day, COUNT(*) FROM orders GROUP BY orders.o_day"],[6,"days_mean_sum",[36],[22],"SELECT orders.o_day, SUM(orders.o_price) FROM orders GROUP BY orders.o_day"],["",[15],[3]],[6,"m_customers_1",[39],[0],"SELECT customers.c_city, customers.c_name, COUNT(*) FROM customers GROUP BY customers.c_city, customers.c_name"],[6,"m_orders_1",[30],[22],"SELECT orders.o_customer, SUM(orders.o_price) FROM orders GROUP BY orders.o_customer"],["",[3],[24]],[6,"m_orders_2",[42],[0],"SELECT orders.o_customer, orders.o_price, COUNT(*) FROM orders GROUP BY orders.o_customer, orders.o_price"],[4,"n",[0]],[4,"money_2",[22]],[0,"decimal",15,2,true,null],[4,"most_2",[46]],["",[15],[44],[45],[47]],[6,"cities_groups",[48],[0],"one row per (c_city)"],[4,"w_1",[0]],["",[27],[1],[3],[5],[50]],[6,"places_windows",[51],[0],"rows with the results of window functions"],["",[21],[23],[26],[29],[31],[35],[37],[38],[40],[41],[43],[49],[52]],["","o_id","o_customer","o_price","o_day","o_note"],[2,"c_city",[8]],["",[55]],[2,"o_customer",[2]],["",[55],[57]],[7,"m_customers_1",[58],false],["",[59]],[8,"cities_groups_count",[56],[60],[12]],[2,"o_price",[4]],["",[62],[59]],[8,"cities_groups_money",[56],[63],[12]],["",[55],[62]],[8,"cities_groups_most",[65],[60],[12]],[2,"o_id",[0]],["",[57],[67],[57],[62]],[8,"places_windows_rows",[68],[12],[12]],["",[57]],[8,"notes_count",[70],[12],[12]],[2,"o_note",[8]],["",[57],[67],[72]],[8,"notes_notes",[73],[12],[12]],[2,"o_day",[6]],["",[75]],[8,"days_count",[76],[12],[12]],["",[62]],[8,"days_mean_sum",[76],[78],[12]],[8,"m_orders_1",[70],[78],[12]],["",[57],[62]],[8,"m_orders_2",[81],[12],[12]],["",[61],[64],[66],[69],[71],[74],[77],[79],[80],[82]],[9,1,"orders",[54],[83]],[1,-1,[0]],["",[85],[59]],[8,"cities_groups_count",[56],[86],[12]],["",[85],[62],[59]],[8,"cities_groups_money",[56],[88],[12]],[8,"cities_groups_most",[65],[86],[12]],["",[85]],[8,"places_windows_rows",[68],[91],[12]],[8,"notes_count",[70],[91],[12]],[8,"notes_notes",[73],[91],[12]],[8,"days_count",[76],[91],[12]],["",[85],[62]],[8,"days_mean_sum",[76],[96],[12]],[8,"m_orders_1",[70],[96],[12]],[8,"m_orders_2",[81],[91],[12]],["",[87],[89],[90],[92],[93],[94],[95],[97],[98],[99]],[9,-1,"orders",[54],[100]],["","c_name","c_city"],[2,"c_name",[2]],["",[103]],[7,"notes_count",[104],false],["",[105]],[8,"cities_groups_count",[56],[106],[12]],[7,"m_orders_1",[104],false],["",[108]],[8,"cities_groups_money",[56],[109],[12]],[2,"value0",[4]],["",[55],[111]],["",[103],[111]],[7,"m_orders_2",[113],false],["",[114]],[8,"cities_groups_most",[112],[115],[12]],["",[55],[103]],[8,"m_customers_1",[117],[12],[12]],["",[107],[110],[116],[118]],[9,1,"customers",[102],[119]],["",[85],[105]],[8,"cities_groups_count",[56],[121],[12]],["",[85],[108]],[8,"cities_groups_money",[56],[123],[12]],["",[85],[114]],[8,"cities_groups_most",[112],[125],[12]],[8,"m_customers_1",[117],[91],[12]],["",[122],[124],[126],[127]],[9,-1,"customers",[102],[128]],["",[84],[101],[120],[129]],[10,"c_city",[55]],[2,"n",[0]],[10,"n",[132]],[2,"money_2",[22]],[10,"money",[134]],[2,"most_2",[46]],[10,"most",[136]],["",[131],[133],[135],[137]],[20,"cities",[48],[12],"cities_groups",[138],null,[12],null,"SELECT c_city, COUNT(*) AS n, SUM(o_price) AS money, MAX(o_price) AS most FROM orders JOIN customers ON o_customer = c_name GROUP BY c_city",0,true,0,[12],[12]],[10,"o_id",[67]],[2,"w_1",[0]],[10,"place",[141]],["",[140],[142]],[20,"places",[51],[12],"places_windows",[143],null,[12],null,"SELECT o_id, RANK() OVER (PARTITION BY o_customer ORDER BY o_price DESC) AS place FROM orders",0,true,0,[12],[12]],[10,"o_customer",[57]],[0,"list",0,0,true,[8]],[2,"notes",[146]],[10,"notes",[147]],["",[145],[148]],["","o_customer"],["",false,true],["",[151]],[17,"notes","notes_notes",[150],[152],false,false,null],["",[153]],[20,"notes",[30],[12],"notes_count",[149],null,[12],null,"SELECT o_customer, ARRAY_AGG(o_note ORDER BY o_id) AS notes FROM orders GROUP BY o_customer",0,false,0,[12],[154]],[16,"count","days_count"],[16,"mean_sum","days_mean_sum"],["",[156],[157]],[10,"o_day",[75]],[2,"count",[0]],[10,"n",[160]],[2,"mean_sum",[22]],["",[162],[160]],[0,"decimal",38,15,false,null],[3,"div",[163],[164]],[10,"mean",[165]],["",[159],[161],[166]],[20,"days",[36],[158],"days_count",[167],null,[12],null,"SELECT o_day, COUNT(*) AS n, AVG(o_price) AS mean FROM orders GROUP BY o_day",0,false,0,[12],[12]],["",[139],[144],[155],[168]],["","c_city"],[11,"count","cities_groups_count","value",[12],[12],null],[11,"money","cities_groups_money","value",[12],[12],null],[11,"most","cities_groups_most","max",[12],[12],null],["",[171],[172],[173]],[2,"money",[22]],[10,"money_2",[175]],[2,"most",[46]],[10,"most_2",[177]],["",[161],[176],[178]],[1,0,[0]],["",[160],[180]],[0,"bool",0,0,false,null],[3,"gt",[181],[182]],[1,1,[0]],["",[183],[184],[180]],[3,"case",[185],[0]],[12,"cities_groups",[170],[174],[179],[186]],["",[62],true,false],["",[188]],[14,"rank",[12],[189],null,[0]],["",[190]],[15,"places_windows","places_windows_rows",1,[191],false],["",[187],[192]],[21,"shop","snapshot",[19],[53],[130],[169],[193]]]}','{"format":1,"alike":[["cities_groups_count","cities_groups_money"],["cities_groups_most"],["places_windows_rows"],["notes_count","m_orders_1"],["notes_notes"],["days_count","days_mean_sum"],["m_customers_1"],["m_orders_2"],["cities_groups"],["places_windows"]],"moves":[["m_orders_2","places_windows_rows"]],"copies":[["cities_groups_count",[0],-1,null,null,0],["cities_groups_most",[0],1,null,null,0],["places_windows_rows",[0],-1,null,null,0],["notes_count",[0],-1,null,null,0],["notes_notes",[1,0,2],-1,null,null,0],["days_count",[0],-1,null,null,0],["m_customers_1",[1],-1,null,null,0],["cities_groups",[0],-1,null,null,0],["places_windows",[0],-1,null,null,0]],"ranks":{"orders":0,"customers":1},"stages":{"cities_groups":1024,"places_windows":1025}}','{"dialect": null, "insert_only": [], "is_program": false, "keys": {"customers": ["upsert", "any"], "orders": ["strict", "any"]}, "seals": {"orders": [["day", ["o_day"], "all"]]}}','{"barriers": [{"about": "the program", "name": "vote", "reason": "a snapshot without events that one who has not voted stamps into its epoch later"}, {"about": "the program", "name": "applied", "reason": "a snapshot, or a final partition, without a batch that is in the log"}, {"about": "the program", "name": "settle", "reason": "a snapshot without the pairs of two batches that were applied side by side, or with them twice: on +orders, cities_groups_count reads m_customers_1"}, {"about": "the program", "name": "refresh", "reason": "a snapshot in which what is derived (MIN, DISTINCT, HAVING, ...) is older than what it is derived from; here cities_groups, places_windows"}, {"about": "the program", "name": "checkpoint", "reason": "a published table of an epoch that differs from the epoch''s snapshot"}, {"about": "orders.day", "name": "value-vote", "reason": "a partition that is called final, and then changes, by events of a producer that had not sealed it; days is final by it"}], "edges": [{"key": [], "label": "Async", "order": null, "reason": "any order of its events ends in the same maps", "source": "orders", "strategy": "none", "target": "cities", "vote": false}, {"key": [], "label": "Async", "order": null, "reason": "any order of its events ends in the same maps", "source": "customers", "strategy": "none", "target": "cities", "vote": false}, {"key": [], "label": "Async", "order": null, "reason": "any order of its events ends in the same maps", "source": "orders", "strategy": "none", "target": "places", "vote": false}, {"key": [], "label": "Async", "order": null, "reason": "any order of its events ends in the same maps", "source": "orders", "strategy": "none", "target": "notes", "vote": false}, {"key": [], "label": "Async", "order": null, "reason": "any order of its events ends in the same maps", "source": "orders", "strategy": "none", "target": "days", "vote": false}, {"key": [], "label": "Run", "order": "logged", "reason": "its column n changes; and no column that it shows keeps the rows of orders and customers apart", "source": "cities", "strategy": "order", "target": "answers", "vote": false}, {"key": [], "label": "Run", "order": "logged", "reason": "what it joins, or compares, may take rows away (NOT EXISTS, outer joins, windows, differences); and no column that it shows keeps the rows of orders apart", "source": "places", "strategy": "order", "target": "answers", "vote": false}, {"key": [], "label": "Run", "order": "logged", "reason": "its column notes changes; its rows are kept apart by o_customer (orders.o_customer), on which orders is not sealed alike", "source": "notes", "strategy": "order", "target": "answers", "vote": false}, {"key": ["o_day"], "label": "Run", "order": null, "reason": "its column n changes; but rows of one o_day depend on no others, and orders.day closes them", "source": "days", "strategy": "seal", "target": "answers", "vote": true}], "notes": ["orders to days: a sealed value concerns all its producers and days; if each value had one producer, it would take no vote"], "scheme": "batch", "verdicts": [{"grain": "batch", "reason": "every map its events reach is a sum of products of the relations'' rows", "relation": "orders"}, {"grain": "batch", "reason": "every map its events reach is a sum of products of the relations'' rows", "relation": "customers"}], "views": [{"advice": null, "coordinated": "Async", "final": "committed", "label": "Run", "reason": "its column n changes; and no column that it shows keeps the rows of orders and customers apart", "seals": [], "view": "cities"}, {"advice": "group by o_day of orders too, on which it is sealed, and show it", "coordinated": "Async", "final": "committed", "label": "Run", "reason": "what it joins, or compares, may take rows away (NOT EXISTS, outer joins, windows, differences); and no column that it shows keeps the rows of orders apart", "seals": [], "view": "places"}, {"advice": "group by o_day of orders too, on which it is sealed, and show it", "coordinated": "Async", "final": "committed", "label": "Run", "reason": "its column notes changes; its rows are kept apart by o_customer (orders.o_customer), on which orders is not sealed alike", "seals": [], "view": "notes"}, {"advice": null, "coordinated": "Async", "final": "sealed", "label": "Run", "reason": "its column n changes; but rows of one o_day depend on no others, and orders.day closes them", "seals": [{"columns": ["o_day"], "forms": [], "output": ["o_day"], "relation": "orders", "seal": "day"}], "view": "days"}]}','c3cea97f137e554c053cf213a71309f6bbd455fca700aef8f3276856bb3f0a77',NULL,0,'2026-11-24 13:01:38.643807',NULL,NULL,NULL,NULL,NULL);
INSERT INTO "revision" VALUES(2,'46a3b0049e82a3d42d6e6b7d85063c0b37ab6279c6cec9fb566a4060d22c0f57','PROGRAM shop SEMANTICS SNAPSHOT;

RELATION orders(o_id INT, o_customer STRING, o_price DECIMAL(15, 2), o_day DATE, o_note STRING NULL, o_channel STRING NULL) KEY (o_id) ROWS 1000;
RELATION customers(c_name STRING, c_city STRING NULL) KEY (c_name);

MAP cities_groups_count[c_city STRING NULL] : INT
  MEANING ''SELECT customers.c_city, COUNT(*) FROM orders, customers WHERE orders.o_customer = customers.c_name GROUP BY customers.c_city'';
MAP cities_groups_money[c_city STRING NULL] : DECIMAL(25, 2)
  MEANING ''SELECT customers.c_city, SUM(orders.o_price) FROM orders, customers WHERE orders.o_customer = customers.c_name GROUP BY customers.c_city'';
MAP cities_groups_most[c_city STRING NULL, value0 DECIMAL(15, 2)] : INT
  MEANING ''SELECT customers.c_city, orders.o_price, COUNT(*) FROM orders, customers WHERE orders.o_customer = customers.c_name GROUP BY customers.c_city, orders.o_price'';
MAP places_windows_rows[part_1 STRING, o_id INT, o_customer STRING, o_price DECIMAL(15, 2)] : INT
  MEANING ''SELECT orders.o_customer, orders.o_id, orders.o_customer, orders.o_price, COUNT(*) FROM orders GROUP BY orders.o_customer, orders.o_id, orders.o_customer, orders.o_price'';
MAP notes_count[o_customer STRING] : INT
  MEANING ''SELECT orders.o_customer, COUNT(*) FROM orders GROUP BY orders.o_customer'';
MAP notes_notes[o_customer STRING, value1 INT, value0 STRING NULL] : INT
  MEANING ''SELECT orders.o_customer, orders.o_id, orders.o_note, COUNT(*) FROM orders GROUP BY orders.o_customer, orders.o_id, orders.o_note'';
MAP days_count[o_day DATE] : INT
  MEANING ''SELECT orders.o_day, COUNT(*) FROM orders GROUP BY orders.o_day'';
MAP days_mean_sum[o_day DATE] : DECIMAL(25, 2)
  MEANING ''SELECT orders.o_day, SUM(orders.o_price) FROM orders GROUP BY orders.o_day'';
MAP m_customers_1[c_city STRING NULL, o_customer STRING] : INT
  MEANING ''SELECT customers.c_city, customers.c_name, COUNT(*) FROM customers GROUP BY customers.c_city, customers.c_name'';
MAP m_orders_1[o_customer STRING] : DECIMAL(25, 2)
  MEANING ''SELECT orders.o_customer, SUM(orders.o_price) FROM orders GROUP BY orders.o_customer'';
MAP m_orders_2[o_customer STRING, value0 DECIMAL(15, 2)] : INT
  MEANING ''SELECT orders.o_customer, orders.o_price, COUNT(*) FROM orders GROUP BY orders.o_customer, orders.o_price'';
MAP cities_groups[c_city STRING NULL, n INT, money_2 DECIMAL(25, 2), most_2 DECIMAL(15, 2) NULL] : INT
  MEANING ''one row per (c_city)'';
MAP places_windows[part_1 STRING, o_id INT, o_customer STRING, o_price DECIMAL(15, 2), w_1 INT] : INT
  MEANING ''rows with the results of window functions'';
MAP channels_distinct_n[o_channel STRING NULL, value0 STRING] : INT
  MEANING ''SELECT orders.o_channel, orders.o_customer, COUNT(*) FROM orders GROUP BY orders.o_channel, orders.o_customer'';
MAP channels_count[o_channel STRING NULL] : INT
  MEANING ''SELECT orders.o_channel, COUNT(*) FROM orders GROUP BY orders.o_channel'';
MAP channels_n[o_channel STRING NULL] : INT
  MEANING ''SELECT channels_distinct.o_channel, COUNT(*) FROM channels_distinct GROUP BY channels_distinct.o_channel'';
MAP channels_distinct[o_channel STRING NULL, value0 STRING] : INT
  MEANING ''one row per (o_channel, value0)'';

DERIVE cities_groups[c_city]
  FROM count = cities_groups_count, money = cities_groups_money, most = MAX(cities_groups_most)
  SELECT n = count,
    money_2 = money,
    most_2 = most
  COUNT CASE WHEN count > 0 THEN 1 ELSE 0 END;
WINDOW places_windows FROM places_windows_rows PARTITION 1
  SELECT rank() :: INT OVER (ORDER BY o_price DESC NULLS LAST);
DERIVE channels_distinct[o_channel, value0]
  FROM n = channels_distinct_n
  COUNT CASE WHEN n > 0 THEN 1 ELSE 0 END;

VIEW cities[c_city STRING NULL, count_2 INT, money_2 DECIMAL(25, 2), most_2 DECIMAL(15, 2) NULL]
  ROWS cities_groups
  COLUMNS c_city = c_city,
    n = count_2,
    money = money_2,
    most = most_2
  HAVING count_2 > 1
  SQL ''SELECT c_city, COUNT(*) AS n, SUM(o_price) AS money, MAX(o_price) AS most FROM orders JOIN customers ON o_customer = c_name GROUP BY c_city HAVING COUNT(*) > 1'';

VIEW places[part_1 STRING, o_id INT, o_customer STRING, o_price DECIMAL(15, 2), w_1 INT]
  ROWS places_windows
  COLUMNS o_id = o_id,
    place = w_1
  SQL ''SELECT o_id, RANK() OVER (PARTITION BY o_customer ORDER BY o_price DESC) AS place FROM orders'';

VIEW notes[o_customer STRING]
  LISTS notes = LIST(notes_notes[o_customer] ORDER ASC NULLS FIRST)
  EXISTS notes_count
  COLUMNS o_customer = o_customer,
    notes = notes
  SQL ''SELECT o_customer, ARRAY_AGG(o_note ORDER BY o_id) AS notes FROM orders GROUP BY o_customer'';

VIEW days[o_day DATE]
  VALUES count = days_count, mean_sum = days_mean_sum
  EXISTS days_count
  COLUMNS o_day = o_day,
    n = count,
    mean = mean_sum / count
  SQL ''SELECT o_day, COUNT(*) AS n, AVG(o_price) AS mean FROM orders GROUP BY o_day'';

VIEW channels[o_channel STRING NULL]
  VALUES n = channels_n
  EXISTS channels_count
  COLUMNS o_channel = o_channel,
    n = n
  SQL ''SELECT o_channel, COUNT(DISTINCT o_customer) AS n FROM orders GROUP BY o_channel'';

ON +orders(o_id, o_customer, o_price, o_day, o_note, o_channel) DO {
  cities_groups_count[c_city] += m_customers_1[c_city, o_customer];
  cities_groups_money[c_city] += o_price * m_customers_1[c_city, o_customer];
  cities_groups_most[c_city, o_price] += m_customers_1[c_city, o_customer];
  places_windows_rows[o_customer, o_id, o_customer, o_price] += 1;
  notes_count[o_customer] += 1;
  notes_notes[o_customer, o_id, o_note] += 1;
  days_count[o_day] += 1;
  days_mean_sum[o_day] += o_price;
  m_orders_1[o_customer] += o_price;
  m_orders_2[o_customer, o_price] += 1;
  channels_distinct_n[o_channel, o_customer] += 1;
  channels_count[o_channel] += 1;
}

ON -orders(o_id, o_customer, o_price, o_day, o_note, o_channel) DO {
  cities_groups_count[c_city] += -1 * m_customers_1[c_city, o_customer];
  cities_groups_money[c_city] += -1 * o_price * m_customers_1[c_city, o_customer];
  cities_groups_most[c_city, o_price] += -1 * m_customers_1[c_city, o_customer];
  places_windows_rows[o_customer, o_id, o_customer, o_price] += -1;
  notes_count[o_customer] += -1;
  notes_notes[o_customer, o_id, o_note] += -1;
  days_count[o_day] += -1;
  days_mean_sum[o_day] += -1 * o_price;
  m_orders_1[o_customer] += -1 * o_price;
  m_orders_2[o_customer, o_price] += -1;
  channels_distinct_n[o_channel, o_customer] += -1;
  channels_count[o_channel] += -1;
}

ON +customers(c_name, c_city) DO {
  cities_groups_count[c_city] += notes_count[c_name];
  cities_groups_money[c_city] += m_orders_1[c_name];
  cities_groups_most[c_city, value0] += m_orders_2[c_name, value0];
  m_customers_1[c_city, c_name] += 1;
}

ON -customers(c_name, c_city) DO {
  cities_groups_count[c_city] += -1 * notes_count[c_name];
  cities_groups_money[c_city] += -1 * m_orders_1[c_name];
  cities_groups_most[c_city, value0] += -1 * m_orders_2[c_name, value0];
  m_customers_1[c_city, c_name] += -1;
}

ON CHANGE channels_distinct(o_channel, value0) DO {
  channels_n[o_channel] += 1;
}
','{"version":3,"parts":[[0,"int",0,0,false,null],[4,"o_id",[0]],[0,"string",0,0,false,null],[4,"o_customer",[2]],[0,"decimal",15,2,false,null],[4,"o_price",[4]],[0,"date",0,0,false,null],[4,"o_day",[6]],[0,"string",0,0,true,null],[4,"o_note",[8]],[4,"o_channel",[8]],["",[1],[3],[5],[7],[9],[10]],["","o_id"],[""],[5,"orders",[11],[12],1000,[13]],[4,"c_name",[2]],[4,"c_city",[8]],["",[15],[16]],["","c_name"],[5,"customers",[17],[18],null,[13]],["",[14],[19]],["",[16]],[6,"cities_groups_count",[21],[0],"SELECT customers.c_city, COUNT(*) FROM orders, customers WHERE orders.o_customer = customers.c_name GROUP BY customers.c_city"],[0,"decimal",25,2,false,null],[6,"cities_groups_money",[21],[23],"SELECT customers.c_city, SUM(orders.o_price) FROM orders, customers WHERE orders.o_customer = customers.c_name GROUP BY customers.c_city"],[4,"value0",[4]],["",[16],[25]],[6,"cities_groups_most",[26],[0],"SELECT customers.c_city, orders.o_price, COUNT(*) FROM orders, customers WHERE orders.o_customer = customers.c_name GROUP BY customers.c_city, orders.o_price"],[4,"part_1",[2]],["",[28],[1],[3],[5]],[6,"places_windows_rows",[29],[0],"SELECT orders.o_customer, orders.o_id, orders.o_customer, orders.o_price, COUNT(*) FROM orders GROUP BY orders.o_customer, orders.o_id, orders.o_customer, orders.o_price"],["",[3]],[6,"notes_count",[31],[0],"SELECT orders.o_customer, COUNT(*) FROM orders GROUP BY orders.o_customer"],[4,"value1",[0]],[4,"value0",[8]],["",[3],[33],[34]],[6,"notes_notes",[35],[0],"SELECT orders.o_customer, orders.o_id, orders.o_note, COUNT(*) FROM orders GROUP BY orders.o_customer, orders.o_id, orders.o_note"],["",[7]],[6,"days_count",[37],[0],"SELECT orders.o_day, COUNT(*) FROM orders GROUP BY orders.o_day"],[6,"days_mean_sum",[37],[23],"SELECT orders.o_day, SUM(orders.o_price) FROM orders GROUP BY orders.o_day"],["",[16],[3]],[6,"m_customers_1",[40],[0],"SELECT customers.c_city, customers.c_name, COUNT(*) FROM customers GROUP BY customers.c_city, customers.c_name"],[6,"m_orders_1",[31],[23],"SELECT orders.o_customer, SUM(orders.o_price) FROM orders GROUP BY orders.o_customer"],["",[3],[25]],[6,"m_orders_2",[43],[0],"SELECT orders.o_customer, orders.o_price, COUNT(*) FROM orders GROUP BY orders.o_customer, orders.o_price"],[4,"n",[0]],[4,"money_2",[23]],[0,"decimal",15,2,true,null],[4,"most_2",[47]],["",[16],[45],[46],[48]],[6,"cities_groups",[49],[0],"one row per (c_city)"],[4,"w_1",[0]],["",[28],[1],[3],[5],[51]],[6,"places_windows",[52],[0],"rows with the results of window functions"],[4,"value0",[2]],["",[10],[54]],[6,"channels_distinct_n",[55],[0],"SELECT orders.o_channel, orders.o_customer, COUNT(*) FROM orders GROUP BY orders.o_channel, orders.o_customer"],["",[10]],[6,"channels_count",[57],[0],"SELECT orders.o_channel, COUNT(*) FROM orders GROUP BY orders.o_channel"],[6,"channels_n",[57],[0],"SELECT channels_distinct.o_channel, COUNT(*) FROM channels_distinct GROUP BY channels_distinct.o_channel"],[6,"channels_distinct",[55],[0],"one row per (o_channel, value0)"],["",[22],[24],[27],[30],[32],[36],[38],[39],[41],[42],[44],[50],[53],[56],[58],[59],[60]],["","o_id","o_customer","o_price","o_day","o_note","o_channel"],[2,"c_city",[8]],["",[63]],[2,"o_customer",[2]],["",[63],[65]],[7,"m_customers_1",[66],false],["",[67]],[8,"cities_groups_count",[64],[68],[13]],[2,"o_price",[4]],["",[70],[67]],[8,"cities_groups_money",[64],[71],[13]],["",[63],[70]],[8,"cities_groups_most",[73],[68],[13]],[2,"o_id",[0]],["",[65],[75],[65],[70]],[8,"places_windows_rows",[76],[13],[13]],["",[65]],[8,"notes_count",[78],[13],[13]],[2,"o_note",[8]],["",[65],[75],[80]],[8,"notes_notes",[81],[13],[13]],[2,"o_day",[6]],["",[83]],[8,"days_count",[84],[13],[13]],["",[70]],[8,"days_mean_sum",[84],[86],[13]],[8,"m_orders_1",[78],[86],[13]],["",[65],[70]],[8,"m_orders_2",[89],[13],[13]],[2,"o_channel",[8]],["",[91],[65]],[8,"channels_distinct_n",[92],[13],[13]],["",[91]],[8,"channels_count",[94],[13],[13]],["",[69],[72],[74],[77],[79],[82],[85],[87],[88],[90],[93],[95]],[9,1,"orders",[62],[96]],[1,-1,[0]],["",[98],[67]],[8,"cities_groups_count",[64],[99],[13]],["",[98],[70],[67]],[8,"cities_groups_money",[64],[101],[13]],[8,"cities_groups_most",[73],[99],[13]],["",[98]],[8,"places_windows_rows",[76],[104],[13]],[8,"notes_count",[78],[104],[13]],[8,"notes_notes",[81],[104],[13]],[8,"days_count",[84],[104],[13]],["",[98],[70]],[8,"days_mean_sum",[84],[109],[13]],[8,"m_orders_1",[78],[109],[13]],[8,"m_orders_2",[89],[104],[13]],[8,"channels_distinct_n",[92],[104],[13]],[8,"channels_count",[94],[104],[13]],["",[100],[102],[103],[105],[106],[107],[108],[110],[111],[112],[113],[114]],[9,-1,"orders",[62],[115]],["","c_name","c_city"],[2,"c_name",[2]],["",[118]],[7,"notes_count",[119],false],["",[120]],[8,"cities_groups_count",[64],[121],[13]],[7,"m_orders_1",[119],false],["",[123]],[8,"cities_groups_money",[64],[124],[13]],[2,"value0",[4]],["",[63],[126]],["",[118],[126]],[7,"m_orders_2",[128],false],["",[129]],[8,"cities_groups_most",[127],[130],[13]],["",[63],[118]],[8,"m_customers_1",[132],[13],[13]],["",[122],[125],[131],[133]],[9,1,"customers",[117],[134]],["",[98],[120]],[8,"cities_groups_count",[64],[136],[13]],["",[98],[123]],[8,"cities_groups_money",[64],[138],[13]],["",[98],[129]],[8,"cities_groups_most",[127],[140],[13]],[8,"m_customers_1",[132],[104],[13]],["",[137],[139],[141],[142]],[9,-1,"customers",[117],[143]],["","o_channel","value0"],[8,"channels_n",[94],[13],[13]],["",[146]],[9,0,"channels_distinct",[145],[147]],["",[97],[116],[135],[144],[148]],[4,"count_2",[0]],["",[16],[150],[46],[48]],[10,"c_city",[63]],[2,"count_2",[0]],[10,"n",[153]],[2,"money_2",[23]],[10,"money",[155]],[2,"most_2",[47]],[10,"most",[157]],["",[152],[154],[156],[158]],[1,1,[0]],["",[153],[160]],[0,"bool",0,0,false,null],[3,"gt",[161],[162]],[20,"cities",[151],[13],"cities_groups",[159],[163],[13],null,"SELECT c_city, COUNT(*) AS n, SUM(o_price) AS money, MAX(o_price) AS most FROM orders JOIN customers ON o_customer = c_name GROUP BY c_city HAVING COUNT(*) > 1",0,true,0,[13],[13]],[10,"o_id",[75]],[2,"w_1",[0]],[10,"place",[166]],["",[165],[167]],[20,"places",[52],[13],"places_windows",[168],null,[13],null,"SELECT o_id, RANK() OVER (PARTITION BY o_customer ORDER BY o_price DESC) AS place FROM orders",0,true,0,[13],[13]],[10,"o_customer",[65]],[0,"list",0,0,true,[8]],[2,"notes",[171]],[10,"notes",[172]],["",[170],[173]],["","o_customer"],["",false,true],["",[176]],[17,"notes","notes_notes",[175],[177],false,false,null],["",[178]],[20,"notes",[31],[13],"notes_count",[174],null,[13],null,"SELECT o_customer, ARRAY_AGG(o_note ORDER BY o_id) AS notes FROM orders GROUP BY o_customer",0,false,0,[13],[179]],[16,"count","days_count"],[16,"mean_sum","days_mean_sum"],["",[181],[182]],[10,"o_day",[83]],[2,"count",[0]],[10,"n",[185]],[2,"mean_sum",[23]],["",[187],[185]],[0,"decimal",38,15,false,null],[3,"div",[188],[189]],[10,"mean",[190]],["",[184],[186],[191]],[20,"days",[37],[183],"days_count",[192],null,[13],null,"SELECT o_day, COUNT(*) AS n, AVG(o_price) AS mean FROM orders GROUP BY o_day",0,false,0,[13],[13]],[16,"n","channels_n"],["",[194]],[10,"o_channel",[91]],[2,"n",[0]],[10,"n",[197]],["",[196],[198]],[20,"channels",[57],[195],"channels_count",[199],null,[13],null,"SELECT o_channel, COUNT(DISTINCT o_customer) AS n FROM orders GROUP BY o_channel",0,false,0,[13],[13]],["",[164],[169],[180],[193],[200]],["","c_city"],[11,"count","cities_groups_count","value",[13],[13],null],[11,"money","cities_groups_money","value",[13],[13],null],[11,"most","cities_groups_most","max",[13],[13],null],["",[203],[204],[205]],[2,"money",[23]],[10,"money_2",[207]],[2,"most",[47]],[10,"most_2",[209]],["",[186],[208],[210]],[1,0,[0]],["",[185],[212]],[3,"gt",[213],[162]],["",[214],[160],[212]],[3,"case",[215],[0]],[12,"cities_groups",[202],[206],[211],[216]],["",[70],true,false],["",[218]],[14,"rank",[13],[219],null,[0]],["",[220]],[15,"places_windows","places_windows_rows",1,[221],false],[11,"n","channels_distinct_n","value",[13],[13],null],["",[223]],["",[197],[212]],[3,"gt",[225],[162]],["",[226],[160],[212]],[3,"case",[227],[0]],[12,"channels_distinct",[145],[224],[13],[228]],["",[217],[222],[229]],[21,"shop","snapshot",[20],[61],[149],[201],[230]]]}','{"format":1,"alike":[["cities_groups_count","cities_groups_money"],["cities_groups_most"],["places_windows_rows"],["notes_count","m_orders_1"],["notes_notes"],["days_count","days_mean_sum"],["m_customers_1"],["m_orders_2"],["cities_groups"],["places_windows"],["channels_distinct_n"],["channels_count"],["channels_n"],["channels_distinct"]],"moves":[["m_orders_2","places_windows_rows"]],"copies":[["cities_groups_count",[0],-1,null,null,0],["cities_groups_most",[0],1,null,null,0],["places_windows_rows",[0],-1,null,null,0],["notes_count",[0],-1,null,null,0],["notes_notes",[1,0,2],-1,null,null,0],["days_count",[0],-1,null,null,0],["m_customers_1",[1],-1,null,null,0],["cities_groups",[0],-1,null,null,0],["places_windows",[0],-1,null,null,0],["channels_distinct_n",[0,1],-1,null,null,0],["channels_count",[0],-1,null,null,0],["channels_n",[0],-1,null,null,0],["channels_distinct",[0,1],-1,null,null,0]],"ranks":{"orders":0,"customers":1},"stages":{"cities_groups":1024,"places_windows":1025,"channels_distinct":1026}}','{"dialect": null, "insert_only": [], "is_program": false, "keys": {"customers": ["upsert", "any"], "orders": ["strict", "any"]}, "seals": {"orders": [["day", ["o_day"], "all"]]}}','{"barriers": [{"about": "the program", "name": "vote", "reason": "a snapshot without events that one who has not voted stamps into its epoch later"}, {"about": "the program", "name": "applied", "reason": "a snapshot, or a final partition, without a batch that is in the log"}, {"about": "the program", "name": "settle", "reason": "a snapshot without the pairs of two batches that were applied side by side, or with them twice: on +orders, cities_groups_count reads m_customers_1"}, {"about": "the program", "name": "refresh", "reason": "a snapshot in which what is derived (MIN, DISTINCT, HAVING, ...) is older than what it is derived from; here cities_groups, places_windows, channels_distinct"}, {"about": "the program", "name": "checkpoint", "reason": "a published table of an epoch that differs from the epoch''s snapshot"}, {"about": "orders.day", "name": "value-vote", "reason": "a partition that is called final, and then changes, by events of a producer that had not sealed it; days is final by it"}], "edges": [{"key": [], "label": "Async", "order": null, "reason": "any order of its events ends in the same maps", "source": "orders", "strategy": "none", "target": "cities", "vote": false}, {"key": [], "label": "Async", "order": null, "reason": "any order of its events ends in the same maps", "source": "customers", "strategy": "none", "target": "cities", "vote": false}, {"key": [], "label": "Async", "order": null, "reason": "any order of its events ends in the same maps", "source": "orders", "strategy": "none", "target": "places", "vote": false}, {"key": [], "label": "Async", "order": null, "reason": "any order of its events ends in the same maps", "source": "orders", "strategy": "none", "target": "notes", "vote": false}, {"key": [], "label": "Async", "order": null, "reason": "any order of its events ends in the same maps", "source": "orders", "strategy": "none", "target": "days", "vote": false}, {"key": [], "label": "Async", "order": null, "reason": "any order of its events ends in the same maps", "source": "orders", "strategy": "none", "target": "channels", "vote": false}, {"key": [], "label": "Run", "order": "logged", "reason": "its column n changes; and no column that it shows keeps the rows of orders and customers apart", "source": "cities", "strategy": "order", "target": "answers", "vote": false}, {"key": [], "label": "Run", "order": "logged", "reason": "what it joins, or compares, may take rows away (NOT EXISTS, outer joins, windows, differences); and no column that it shows keeps the rows of orders apart", "source": "places", "strategy": "order", "target": "answers", "vote": false}, {"key": [], "label": "Run", "order": "logged", "reason": "its column notes changes; its rows are kept apart by o_customer (orders.o_customer), on which orders is not sealed alike", "source": "notes", "strategy": "order", "target": "answers", "vote": false}, {"key": ["o_day"], "label": "Run", "order": null, "reason": "its column n changes; but rows of one o_day depend on no others, and orders.day closes them", "source": "days", "strategy": "seal", "target": "answers", "vote": true}, {"key": [], "label": "Run", "order": "logged", "reason": "its column n changes; its rows are kept apart by o_channel (orders.o_channel), on which orders is not sealed alike", "source": "channels", "strategy": "order", "target": "answers", "vote": false}], "notes": ["orders to days: a sealed value concerns all its producers and days; if each value had one producer, it would take no vote"], "scheme": "batch", "verdicts": [{"grain": "batch", "reason": "every map its events reach is a sum of products of the relations'' rows", "relation": "orders"}, {"grain": "batch", "reason": "every map its events reach is a sum of products of the relations'' rows", "relation": "customers"}], "views": [{"advice": "leave out n, money, most, and say `insert_only: true` for orders and customers, if nothing is ever deleted there: then no row of it is ever retracted", "coordinated": "Async", "final": "committed", "label": "Run", "reason": "its column n changes; and no column that it shows keeps the rows of orders and customers apart", "seals": [], "view": "cities"}, {"advice": "group by o_day of orders too, on which it is sealed, and show it", "coordinated": "Async", "final": "committed", "label": "Run", "reason": "what it joins, or compares, may take rows away (NOT EXISTS, outer joins, windows, differences); and no column that it shows keeps the rows of orders apart", "seals": [], "view": "places"}, {"advice": "group by o_day of orders too, on which it is sealed, and show it", "coordinated": "Async", "final": "committed", "label": "Run", "reason": "its column notes changes; its rows are kept apart by o_customer (orders.o_customer), on which orders is not sealed alike", "seals": [], "view": "notes"}, {"advice": null, "coordinated": "Async", "final": "sealed", "label": "Run", "reason": "its column n changes; but rows of one o_day depend on no others, and orders.day closes them", "seals": [{"columns": ["o_day"], "forms": [], "output": ["o_day"], "relation": "orders", "seal": "day"}], "view": "days"}, {"advice": "group by o_day of orders too, on which it is sealed, and show it", "coordinated": "Async", "final": "committed", "label": "Run", "reason": "its column n changes; its rows are kept apart by o_channel (orders.o_channel), on which orders is not sealed alike", "seals": [], "view": "channels"}]}','8eafec8ac246f7d09054a81dab605074f0f7baeb49085b11cf8bebce619d0ee6',NULL,2,'2026-11-24 13:01:48.756360',1,NULL,NULL,NULL,NULL);
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
INSERT INTO "run" VALUES(81,'m_customers_1','1','runs/520d8fa9.1.5.10-e61c74e9938b4f6fb5630bd3d8aa2b7b.pack',0,17,13,1099511627775,3298534883327,6,2843,NULL);
INSERT INTO "run" VALUES(82,'places_windows_rows','0','runs/520d8fa9.1.5.10-e61c74e9938b4f6fb5630bd3d8aa2b7b.pack',2880,17,15,1099511627775,3298534883327,46,4627,NULL);
INSERT INTO "run" VALUES(83,'notes_count','0','runs/520d8fa9.1.5.10-e61c74e9938b4f6fb5630bd3d8aa2b7b.pack',7552,17,15,1099511627775,3298534883327,6,2939,NULL);
INSERT INTO "run" VALUES(84,'notes_notes','1.0.2','runs/520d8fa9.1.5.10-e61c74e9938b4f6fb5630bd3d8aa2b7b.pack',10496,17,15,1099511627775,3298534883327,46,3763,NULL);
INSERT INTO "run" VALUES(85,'days_count','0','runs/520d8fa9.1.5.10-e61c74e9938b4f6fb5630bd3d8aa2b7b.pack',14272,17,15,1099511627775,3298534883327,5,2579,NULL);
INSERT INTO "run" VALUES(86,'cities_groups_count','0','runs/520d8fa9.1.5.10-e61c74e9938b4f6fb5630bd3d8aa2b7b.pack',16896,17,15,1099511627775,3298534883327,8,3123,NULL);
INSERT INTO "run" VALUES(87,'cities_groups_most','0<1','runs/520d8fa9.1.5.10-e61c74e9938b4f6fb5630bd3d8aa2b7b.pack',20032,17,15,1099511627775,3298534883327,46,3299,NULL);
INSERT INTO "run" VALUES(88,'places_windows','0','runs/520d8fa9.1.5.10-e61c74e9938b4f6fb5630bd3d8aa2b7b.pack',23360,17,15,1099511627775,3298534883327,58,4675,NULL);
INSERT INTO "run" VALUES(89,'cities_groups','0','runs/520d8fa9.1.5.10-e61c74e9938b4f6fb5630bd3d8aa2b7b.pack',28096,17,15,1099511627775,3298534883327,10,3635,NULL);
INSERT INTO "run" VALUES(90,'channels_distinct_n','0.1','runs/520d8fa9.1.5.10-e61c74e9938b4f6fb5630bd3d8aa2b7b.pack',31744,17,15,1099511627775,3298534883327,6,3115,NULL);
INSERT INTO "run" VALUES(91,'channels_count','0','runs/520d8fa9.1.5.10-e61c74e9938b4f6fb5630bd3d8aa2b7b.pack',34880,17,15,1099511627775,3298534883327,3,2259,NULL);
INSERT INTO "run" VALUES(92,'channels_distinct','0.1','runs/520d8fa9.1.5.10-e61c74e9938b4f6fb5630bd3d8aa2b7b.pack',37184,17,15,1099511627775,3298534883327,5,3083,NULL);
INSERT INTO "run" VALUES(93,'channels_n','0','runs/520d8fa9.1.5.10-e61c74e9938b4f6fb5630bd3d8aa2b7b.pack',40320,17,15,1099511627775,3298534883327,3,2227,NULL);
CREATE TABLE seal_producer (
	value BIGINT NOT NULL, 
	coordinator INTEGER NOT NULL, 
	registered_at FLOAT NOT NULL, 
	sealed_at FLOAT, 
	sealed_by VARCHAR(200), 
	PRIMARY KEY (value, coordinator)
);
INSERT INTO "seal_producer" VALUES(1,0,1.79552530533198404305e+09,1.79552530738500070567e+09,'d1');
INSERT INTO "seal_producer" VALUES(1,1,1.79552530576400756834e+09,1.79552530770598053931e+09,'d1');
INSERT INTO "seal_producer" VALUES(2,0,1.79552530738500070567e+09,1.7955253094310164451e+09,'d2');
INSERT INTO "seal_producer" VALUES(2,1,1.79552530770598053931e+09,1.79552530979098224641e+09,'d2');
INSERT INTO "seal_producer" VALUES(3,0,1.7955253094310164451e+09,NULL,NULL);
INSERT INTO "seal_producer" VALUES(3,1,1.79552530979098224641e+09,NULL,NULL);
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
INSERT INTO "seal_value" VALUES(1,'orders','day','["2026-01-01"]','o_day','all',1.79552530533198404305e+09,4,1);
INSERT INTO "seal_value" VALUES(2,'orders','day','["2026-01-02"]','o_day','all',1.79552530738500070567e+09,6,1);
INSERT INTO "seal_value" VALUES(3,'orders','day','["2026-01-03"]','o_day','all',1.7955253094310164451e+09,NULL,NULL);
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
INSERT INTO "snapshot" VALUES(0,1099511627775,4,68,5.74585739996109623461e-02,'2026-11-24 13:01:46.247408',NULL,NULL);
INSERT INTO "snapshot" VALUES(1,2199023255551,9,179,1.68044800011557526886e-03,'2026-11-24 13:01:48.094274',NULL,NULL);
INSERT INTO "snapshot" VALUES(2,3298534883327,16,299,1.93921400204999372363e-03,'2026-11-24 13:01:50.264174',NULL,NULL);
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
INSERT INTO "vote" VALUES(0,0,'2026-11-24 13:01:46.105513',NULL,NULL);
INSERT INTO "vote" VALUES(1,0,'2026-11-24 13:01:46.112017',NULL,NULL);
INSERT INTO "vote" VALUES(0,1,'2026-11-24 13:01:48.022975',NULL,NULL);
INSERT INTO "vote" VALUES(1,1,'2026-11-24 13:01:48.043817',NULL,NULL);
INSERT INTO "vote" VALUES(0,2,'2026-11-24 13:01:50.184152',NULL,NULL);
INSERT INTO "vote" VALUES(1,2,'2026-11-24 13:01:50.218897',NULL,NULL);
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
INSERT INTO "sqlite_sequence" VALUES('lease',6);
INSERT INTO "sqlite_sequence" VALUES('reading_clock',9);
COMMIT;
