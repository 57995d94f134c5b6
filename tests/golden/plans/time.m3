PROGRAM test SEMANTICS SNAPSHOT;

RELATION sale(id INT, buyer STRING, item INT, price DECIMAL(9, 2), day DATE, moment TIMESTAMP, note STRING NULL) KEY (id) ROWS 100000;
RELATION buyer(name STRING, town STRING NULL) KEY (name) ROWS 5000;
RELATION item(no INT, kind STRING, weight DOUBLE NULL);
RELATION clock_ticks("at" TIMESTAMP);

MAP sale_now_n[buyer STRING, moment TIMESTAMP] : INT
  MEANING 'SELECT sale.buyer, sale.moment, COUNT(*) FROM sale GROUP BY sale.buyer, sale.moment';
MAP ticks["at" TIMESTAMP] : INT
  MEANING 'SELECT clock_ticks."at", COUNT(*) FROM clock_ticks GROUP BY clock_ticks."at"';
MAP lately_count[buyer STRING] : INT
  MEANING 'SELECT sale_now.buyer, COUNT(*) FROM sale_now GROUP BY sale_now.buyer';
MAP months_count[month DATE] : INT
  MEANING 'SELECT DATE_TRUNC(''month'', sale.day), COUNT(*) FROM sale GROUP BY DATE_TRUNC(''month'', sale.day)';
MAP months_money[month DATE] : DECIMAL(19, 2)
  MEANING 'SELECT DATE_TRUNC(''month'', sale.day), SUM(sale.price) FROM sale GROUP BY DATE_TRUNC(''month'', sale.day)';
MAP sale_now[buyer STRING, moment TIMESTAMP] : INT
  MEANING 'one row per (buyer, moment)';

DERIVE sale_now[buyer, moment]
  FROM n = sale_now_n, now = NOW(ticks)
  COUNT CASE WHEN moment > ATTEMPT(ADD_DAYS(now, -1)) THEN n ELSE 0 END;

VIEW lately[buyer STRING]
  VALUES count = lately_count
  EXISTS lately_count
  COLUMNS buyer = buyer,
    n = count
  SQL 'SELECT buyer, COUNT(*) AS n FROM sale WHERE moment > now() - INTERVAL 1 DAY GROUP BY buyer';

VIEW months[month DATE]
  VALUES money = months_money
  EXISTS months_count
  COLUMNS month = month,
    money = money
  SQL 'SELECT DATE_TRUNC(''month'', day) AS month, SUM(price) AS money FROM sale GROUP BY 1';

ON +sale(id, buyer, item, price, day, moment, note) DO {
  sale_now_n[buyer, moment] += 1;
  months_count[DATE_TRUNC('month', day)] += 1;
  months_money[DATE_TRUNC('month', day)] += price;
}

ON -sale(id, buyer, item, price, day, moment, note) DO {
  sale_now_n[buyer, moment] += -1;
  months_count[DATE_TRUNC('month', day)] += -1;
  months_money[DATE_TRUNC('month', day)] += -1 * price;
}

ON +clock_ticks("at") DO {
  ticks["at"] += 1;
}

ON -clock_ticks("at") DO {
  ticks["at"] += -1;
}

ON CHANGE sale_now(buyer, moment) DO {
  lately_count[buyer] += 1;
}
