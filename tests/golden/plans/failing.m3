PROGRAM test SEMANTICS SNAPSHOT;

RELATION sale(id INT, buyer STRING, item INT, price DECIMAL(9, 2), day DATE, moment TIMESTAMP, note STRING NULL) KEY (id) ROWS 100000;
RELATION buyer(name STRING, town STRING NULL) KEY (name) ROWS 5000;
RELATION item(no INT, kind STRING, weight DOUBLE NULL);

MAP ratios_count[buyer STRING] : INT
  MEANING 'SELECT sale.buyer, COUNT(*) FROM sale GROUP BY sale.buyer';
MAP ratios_ratio[buyer STRING] : DECIMAL(38, 19)
  MEANING 'SELECT sale.buyer, SUM(ATTEMPT((100 / (sale.price - 5)) :: DECIMAL(38, 19))) FROM sale GROUP BY sale.buyer';
MAP ratios_failed[id INT, price DECIMAL(9, 2)] : INT
  MEANING 'SELECT sale.id, sale.price, COUNT(*) FROM sale WHERE FAILS((100 / (sale.price - 5)) :: DECIMAL(38, 19)) = 1 GROUP BY sale.id, sale.price';
MAP numbers_count[number INT NULL] : INT
  MEANING 'SELECT ATTEMPT(CAST(sale.note AS INT)), COUNT(*) FROM sale GROUP BY ATTEMPT(CAST(sale.note AS INT))';
MAP numbers_failed[id INT, note STRING NULL] : INT
  MEANING 'SELECT sale.id, sale.note, COUNT(*) FROM sale WHERE FAILS(CAST(sale.note AS INT)) = 1 GROUP BY sale.id, sale.note';

VIEW ratios[buyer STRING]
  VALUES ratio = ratios_ratio
  EXISTS ratios_count
  COLUMNS buyer = buyer,
    ratio = ratio
  CHECKS ratios_failed FAILS (100 / (price - 5)) :: DECIMAL(38, 19) OF (sale) AT 'ratios' 1 19 16
  SQL 'SELECT buyer, SUM(100 / (price - 5)) AS ratio FROM sale GROUP BY buyer';

VIEW numbers[number INT NULL]
  VALUES count = numbers_count
  EXISTS numbers_count
  COLUMNS number = number,
    n = count
  CHECKS numbers_failed FAILS CAST(note AS INT) OF (sale) AT 'numbers' 1 13 4
  SQL 'SELECT CAST(note AS INT) AS number, COUNT(*) AS n FROM sale GROUP BY 1';

ON +sale(id, buyer, item, price, day, moment, note) DO {
  ratios_count[buyer] += 1;
  ratios_ratio[buyer] += (ATTEMPT((100 / (price - 5)) :: DECIMAL(38, 19)));
  ratios_failed[id, price] += IF FAILS((100 / (price - 5)) :: DECIMAL(38, 19)) = 1 THEN 1 ELSE 0;
  numbers_count[ATTEMPT(CAST(note AS INT))] += 1;
  numbers_failed[id, note] += IF FAILS(CAST(note AS INT)) = 1 THEN 1 ELSE 0;
}

ON -sale(id, buyer, item, price, day, moment, note) DO {
  ratios_count[buyer] += -1;
  ratios_ratio[buyer] += -1 * (ATTEMPT((100 / (price - 5)) :: DECIMAL(38, 19)));
  ratios_failed[id, price] += IF FAILS((100 / (price - 5)) :: DECIMAL(38, 19)) = 1 THEN -1 ELSE 0;
  numbers_count[ATTEMPT(CAST(note AS INT))] += -1;
  numbers_failed[id, note] += IF FAILS(CAST(note AS INT)) = 1 THEN -1 ELSE 0;
}
