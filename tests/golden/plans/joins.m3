PROGRAM test SEMANTICS SNAPSHOT;

RELATION sale(id INT, buyer STRING, item INT, price DECIMAL(9, 2), day DATE, moment TIMESTAMP, note STRING NULL) KEY (id) ROWS 100000;
RELATION buyer(name STRING, town STRING NULL) KEY (name) ROWS 5000;
RELATION item(no INT, kind STRING, weight DOUBLE NULL);

MAP idle_matched_n[buyer STRING] : INT
  MEANING 'SELECT sale.buyer, COUNT(*) FROM sale WHERE sale.price > 1 GROUP BY sale.buyer';
MAP never_exists_n[item INT] : INT
  MEANING 'SELECT sale.item, COUNT(*) FROM sale GROUP BY sale.item';
MAP towns_count[town STRING NULL] : INT
  MEANING 'SELECT buyer.town, COUNT(*) FROM sale, buyer WHERE sale.buyer = buyer.name GROUP BY buyer.town';
MAP towns_money[town STRING NULL] : DECIMAL(19, 2)
  MEANING 'SELECT buyer.town, SUM(sale.price) FROM sale, buyer WHERE sale.buyer = buyer.name GROUP BY buyer.town';
MAP kinds_count[kind STRING, town STRING NULL] : INT
  MEANING 'SELECT item.kind, buyer.town, COUNT(*) FROM sale, buyer, item WHERE sale.buyer = buyer.name AND sale.item = item.no GROUP BY item.kind, buyer.town';
MAP kinds_money[kind STRING, town STRING NULL] : DECIMAL(21, 2)
  MEANING 'SELECT item.kind, buyer.town, SUM(sale.price * 2) FROM sale, buyer, item WHERE sale.buyer = buyer.name AND sale.item = item.no GROUP BY item.kind, buyer.town';
MAP idle_count[name STRING] : INT
  MEANING 'SELECT buyer.name, COUNT(*) FROM buyer, sale WHERE buyer.name = sale.buyer AND sale.price > 1 GROUP BY buyer.name UNION ALL SELECT buyer.name, COUNT(*) FROM buyer GROUP BY buyer.name UNION ALL SELECT buyer.name, SUM(-1) FROM buyer, idle_matched WHERE buyer.name = idle_matched.buyer GROUP BY buyer.name';
MAP idle_n[name STRING] : INT
  MEANING 'SELECT buyer.name, COUNT(*) FROM buyer, sale WHERE buyer.name = sale.buyer AND sale.price > 1 GROUP BY buyer.name';
MAP both_count[day DATE] : INT
  MEANING 'SELECT sale.day, COUNT(*) FROM sale WHERE sale.note IS NULL GROUP BY sale.day UNION ALL SELECT sale.day, COUNT(*) FROM sale WHERE sale.price > 10 GROUP BY sale.day';
MAP never_count[] : INT
  MEANING 'SELECT COUNT(*) FROM item UNION ALL SELECT SUM(-1) FROM item, never_exists WHERE item.no = never_exists.item';
MAP rows_of_rows[id INT, note STRING NULL, price DECIMAL(9, 2)] : INT
  MEANING 'SELECT sale.id, sale.note, sale.price, COUNT(*) FROM sale WHERE sale.day >= DATE ''2026-01-01'' GROUP BY sale.id, sale.note, sale.price';
MAP m_buyer_1[buyer STRING, town STRING NULL] : INT
  MEANING 'SELECT buyer.name, buyer.town, COUNT(*) FROM buyer GROUP BY buyer.name, buyer.town';
MAP m_sale_1[buyer STRING] : INT
  MEANING 'SELECT sale.buyer, COUNT(*) FROM sale GROUP BY sale.buyer';
MAP m_sale_2[buyer STRING] : DECIMAL(19, 2)
  MEANING 'SELECT sale.buyer, SUM(sale.price) FROM sale GROUP BY sale.buyer';
MAP m_item_1[kind STRING, item INT] : INT
  MEANING 'SELECT item.kind, item.no, COUNT(*) FROM item GROUP BY item.kind, item.no';
MAP m_item_sale_1[kind STRING, buyer STRING] : INT
  MEANING 'SELECT item.kind, sale.buyer, COUNT(*) FROM sale, item WHERE sale.item = item.no GROUP BY item.kind, sale.buyer';
MAP m_buyer_sale_1[town STRING NULL, item INT] : INT
  MEANING 'SELECT buyer.town, sale.item, COUNT(*) FROM sale, buyer WHERE sale.buyer = buyer.name GROUP BY buyer.town, sale.item';
MAP m_item_sale_2[kind STRING, buyer STRING] : DECIMAL(21, 2)
  MEANING 'SELECT item.kind, sale.buyer, SUM(sale.price * 2) FROM sale, item WHERE sale.item = item.no GROUP BY item.kind, sale.buyer';
MAP m_buyer_sale_2[town STRING NULL, item INT] : DECIMAL(21, 2)
  MEANING 'SELECT buyer.town, sale.item, SUM(sale.price * 2) FROM sale, buyer WHERE sale.buyer = buyer.name GROUP BY buyer.town, sale.item';
MAP m_buyer_2[name STRING] : INT
  MEANING 'SELECT buyer.name, COUNT(*) FROM buyer GROUP BY buyer.name';
MAP m_item_2[item INT] : INT
  MEANING 'SELECT item.no, COUNT(*) FROM item GROUP BY item.no';
MAP m_sale_3[buyer STRING, item INT] : INT
  MEANING 'SELECT sale.buyer, sale.item, COUNT(*) FROM sale GROUP BY sale.buyer, sale.item';
MAP m_sale_4[buyer STRING, item INT] : DECIMAL(21, 2)
  MEANING 'SELECT sale.buyer, sale.item, SUM(sale.price * 2) FROM sale GROUP BY sale.buyer, sale.item';
MAP idle_matched[buyer STRING] : INT
  MEANING 'one row per (buyer)';
MAP never_exists[item INT] : INT
  MEANING 'one row per (item)';

DERIVE idle_matched[buyer]
  FROM n = idle_matched_n
  COUNT CASE WHEN n > 0 THEN 1 ELSE 0 END;
DERIVE never_exists[item]
  FROM n = never_exists_n
  COUNT CASE WHEN n > 0 THEN 1 ELSE 0 END;

VIEW towns[town STRING NULL]
  VALUES money = towns_money, count = towns_count
  EXISTS towns_count
  COLUMNS town = town,
    money = money,
    mean = (money / count) :: DECIMAL(38, 19),
    n = count
  SQL 'SELECT town, SUM(price) AS money, AVG(price) AS mean, COUNT(*) AS n FROM sale JOIN buyer ON buyer = name GROUP BY town';

VIEW kinds[kind STRING, town STRING NULL]
  VALUES money = kinds_money
  EXISTS kinds_count
  COLUMNS kind = kind,
    town = town,
    money = money
  SQL 'SELECT kind, town, SUM(price * 2) AS money FROM sale, buyer, item WHERE buyer = name AND item = no GROUP BY kind, town';

VIEW idle[name STRING]
  VALUES n = idle_n
  EXISTS idle_count
  COLUMNS name = name,
    n = n
  SQL 'SELECT name, COUNT(id) AS n FROM buyer LEFT JOIN sale ON buyer = name AND price > 1 GROUP BY name';

VIEW both[day DATE]
  VALUES count = both_count
  EXISTS both_count
  COLUMNS day = day,
    n = count
  SQL 'SELECT day, COUNT(*) AS n FROM (SELECT day FROM sale WHERE note IS NULL UNION ALL SELECT day FROM sale WHERE price > 10) x GROUP BY day';

VIEW never[]
  VALUES count = never_count
  EXISTS never_count
  COLUMNS n = count
  SQL 'SELECT COUNT(*) AS n FROM item WHERE NOT EXISTS (SELECT 1 FROM sale WHERE item = no)';

VIEW rows_of[id INT, note STRING NULL, price DECIMAL(9, 2)]
  ROWS rows_of_rows
  COLUMNS id = id,
    note = note,
    price = price
  ORDER BY 3 DESC
  LIMIT 5
  SQL 'SELECT id, note, price FROM sale WHERE day >= DATE ''2026-01-01'' ORDER BY price DESC LIMIT 5';

ON +sale(id, buyer, item, price, day, moment, note) DO {
  kinds_count[kind, town] += m_buyer_1[buyer, town] * m_item_1[kind, item];
  kinds_money[kind, town] += (price * 2) * m_buyer_1[buyer, town] * m_item_1[kind, item];
  towns_count[town] += m_buyer_1[buyer, town];
  towns_money[town] += price * m_buyer_1[buyer, town];
  idle_count[buyer] += IF price > 1 THEN m_buyer_2[buyer] ELSE 0;
  idle_n[buyer] += IF price > 1 THEN m_buyer_2[buyer] ELSE 0;
  m_item_sale_1[kind, buyer] += m_item_1[kind, item];
  m_buyer_sale_1[town, item] += m_buyer_1[buyer, town];
  m_item_sale_2[kind, buyer] += (price * 2) * m_item_1[kind, item];
  m_buyer_sale_2[town, item] += (price * 2) * m_buyer_1[buyer, town];
  idle_matched_n[buyer] += IF price > 1 THEN 1 ELSE 0;
  never_exists_n[item] += 1;
  both_count[day] += IF note IS NULL THEN 1 ELSE 0;
  both_count[day] += IF price > 10 THEN 1 ELSE 0;
  rows_of_rows[id, note, price] += IF day >= DATE '2026-01-01' THEN 1 ELSE 0;
  m_sale_1[buyer] += 1;
  m_sale_2[buyer] += price;
  m_sale_3[buyer, item] += 1;
  m_sale_4[buyer, item] += (price * 2);
}

ON -sale(id, buyer, item, price, day, moment, note) DO {
  kinds_count[kind, town] += -1 * m_buyer_1[buyer, town] * m_item_1[kind, item];
  kinds_money[kind, town] += -1 * (price * 2) * m_buyer_1[buyer, town] * m_item_1[kind, item];
  towns_count[town] += -1 * m_buyer_1[buyer, town];
  towns_money[town] += -1 * price * m_buyer_1[buyer, town];
  idle_count[buyer] += IF price > 1 THEN -1 * m_buyer_2[buyer] ELSE 0;
  idle_n[buyer] += IF price > 1 THEN -1 * m_buyer_2[buyer] ELSE 0;
  m_item_sale_1[kind, buyer] += -1 * m_item_1[kind, item];
  m_buyer_sale_1[town, item] += -1 * m_buyer_1[buyer, town];
  m_item_sale_2[kind, buyer] += -1 * (price * 2) * m_item_1[kind, item];
  m_buyer_sale_2[town, item] += -1 * (price * 2) * m_buyer_1[buyer, town];
  idle_matched_n[buyer] += IF price > 1 THEN -1 ELSE 0;
  never_exists_n[item] += -1;
  both_count[day] += IF note IS NULL THEN -1 ELSE 0;
  both_count[day] += IF price > 10 THEN -1 ELSE 0;
  rows_of_rows[id, note, price] += IF day >= DATE '2026-01-01' THEN -1 ELSE 0;
  m_sale_1[buyer] += -1;
  m_sale_2[buyer] += -1 * price;
  m_sale_3[buyer, item] += -1;
  m_sale_4[buyer, item] += -1 * (price * 2);
}

ON +buyer(name, town) DO {
  kinds_count[kind, town] += m_item_sale_1[kind, name];
  kinds_money[kind, town] += m_item_sale_2[kind, name];
  towns_count[town] += m_sale_1[name];
  towns_money[town] += m_sale_2[name];
  idle_count[name] += idle_matched_n[name];
  idle_count[name] += 1;
  idle_count[name] += -1 * idle_matched[name];
  idle_n[name] += idle_matched_n[name];
  m_buyer_sale_1[town, item] += m_sale_3[name, item];
  m_buyer_sale_2[town, item] += m_sale_4[name, item];
  m_buyer_1[name, town] += 1;
  m_buyer_2[name] += 1;
}

ON -buyer(name, town) DO {
  kinds_count[kind, town] += -1 * m_item_sale_1[kind, name];
  kinds_money[kind, town] += -1 * m_item_sale_2[kind, name];
  towns_count[town] += -1 * m_sale_1[name];
  towns_money[town] += -1 * m_sale_2[name];
  idle_count[name] += -1 * idle_matched_n[name];
  idle_count[name] += -1;
  idle_count[name] += idle_matched[name];
  idle_n[name] += -1 * idle_matched_n[name];
  m_buyer_sale_1[town, item] += -1 * m_sale_3[name, item];
  m_buyer_sale_2[town, item] += -1 * m_sale_4[name, item];
  m_buyer_1[name, town] += -1;
  m_buyer_2[name] += -1;
}

ON +item(no, kind, weight) DO {
  kinds_count[kind, town] += m_buyer_sale_1[town, no];
  kinds_money[kind, town] += m_buyer_sale_2[town, no];
  never_count[] += 1;
  never_count[] += -1 * never_exists[no];
  m_item_sale_1[kind, buyer] += m_sale_3[buyer, no];
  m_item_sale_2[kind, buyer] += m_sale_4[buyer, no];
  m_item_1[kind, no] += 1;
  m_item_2[no] += 1;
}

ON -item(no, kind, weight) DO {
  kinds_count[kind, town] += -1 * m_buyer_sale_1[town, no];
  kinds_money[kind, town] += -1 * m_buyer_sale_2[town, no];
  never_count[] += -1;
  never_count[] += never_exists[no];
  m_item_sale_1[kind, buyer] += -1 * m_sale_3[buyer, no];
  m_item_sale_2[kind, buyer] += -1 * m_sale_4[buyer, no];
  m_item_1[kind, no] += -1;
  m_item_2[no] += -1;
}

ON CHANGE idle_matched(buyer) DO {
  idle_count[buyer] += -1 * m_buyer_2[buyer];
}

ON CHANGE never_exists(item) DO {
  never_count[] += -1 * m_item_2[item];
}
