PROGRAM test SEMANTICS SNAPSHOT;

RELATION sale(id INT, buyer STRING, item INT, price DECIMAL(9, 2), day DATE, moment TIMESTAMP, note STRING NULL) KEY (id) ROWS 100000;
RELATION buyer(name STRING, town STRING NULL) KEY (name) ROWS 5000;
RELATION item(no INT, kind STRING, weight DOUBLE NULL);

MAP places_windows_rows[part_1 STRING, id INT, buyer STRING, price DECIMAL(9, 2)] : INT
  MEANING 'SELECT sale.buyer, sale.id, sale.buyer, sale.price, COUNT(*) FROM sale GROUP BY sale.buyer, sale.id, sale.buyer, sale.price';
MAP sums_windows_rows[part_1 STRING, id INT, buyer STRING, price DECIMAL(9, 2), day DATE] : INT
  MEANING 'SELECT sale.buyer, sale.id, sale.buyer, sale.price, sale.day, COUNT(*) FROM sale GROUP BY sale.buyer, sale.id, sale.buyer, sale.price, sale.day';
MAP best_groups_count[town STRING NULL, buyer STRING] : INT
  MEANING 'SELECT buyer.town, sale.buyer, COUNT(*) FROM sale, buyer WHERE sale.buyer = buyer.name GROUP BY buyer.town, sale.buyer';
MAP best_groups_r[town STRING NULL, buyer STRING] : DECIMAL(19, 2)
  MEANING 'SELECT buyer.town, sale.buyer, SUM(sale.price) FROM sale, buyer WHERE sale.buyer = buyer.name GROUP BY buyer.town, sale.buyer';
MAP best_windows_rows[part_1 STRING NULL, town STRING NULL, buyer STRING, r DECIMAL(19, 2)] : INT
  MEANING 'SELECT best_groups.town, best_groups.town, best_groups.buyer, best_groups.r_2, COUNT(*) FROM best_groups GROUP BY best_groups.town, best_groups.town, best_groups.buyer, best_groups.r_2';
MAP m_buyer_1[buyer STRING, town STRING NULL] : INT
  MEANING 'SELECT buyer.name, buyer.town, COUNT(*) FROM buyer GROUP BY buyer.name, buyer.town';
MAP m_sale_1[buyer STRING] : INT
  MEANING 'SELECT sale.buyer, COUNT(*) FROM sale GROUP BY sale.buyer';
MAP m_sale_2[buyer STRING] : DECIMAL(19, 2)
  MEANING 'SELECT sale.buyer, SUM(sale.price) FROM sale GROUP BY sale.buyer';
MAP places_windows[part_1 STRING, id INT, buyer STRING, price DECIMAL(9, 2), w_1 INT] : INT
  MEANING 'rows with the results of window functions';
MAP sums_windows[part_1 STRING, id INT, buyer STRING, price DECIMAL(9, 2), day DATE, w_1 DECIMAL(19, 2) NULL, w_2 DECIMAL(9, 2) NULL] : INT
  MEANING 'rows with the results of window functions';
MAP best_groups[town STRING NULL, buyer STRING, r_2 DECIMAL(19, 2)] : INT
  MEANING 'one row per (town, buyer)';
MAP best_windows[part_1 STRING NULL, town STRING NULL, buyer STRING, r DECIMAL(19, 2) NULL, w_1 INT] : INT
  MEANING 'rows with the results of window functions';

WINDOW places_windows FROM places_windows_rows PARTITION 1
  SELECT row_number() :: INT OVER (ORDER BY price DESC NULLS LAST);
WINDOW sums_windows FROM sums_windows_rows PARTITION 1
  SELECT sum(price) :: DECIMAL(19, 2) NULL OVER (ORDER BY day ASC NULLS FIRST, id ASC NULLS FIRST),
    lag(price) :: DECIMAL(9, 2) NULL OVER (ORDER BY day ASC NULLS FIRST, id ASC NULLS FIRST);
DERIVE best_groups[town, buyer]
  FROM count = best_groups_count, r = best_groups_r
  SELECT r_2 = r
  COUNT CASE WHEN count > 0 THEN 1 ELSE 0 END;
WINDOW best_windows FROM best_windows_rows PARTITION 1
  SELECT rank() :: INT OVER (ORDER BY r DESC NULLS LAST);

VIEW places[part_1 STRING, id INT, buyer STRING, price DECIMAL(9, 2), w_1 INT]
  ROWS places_windows
  COLUMNS id = id,
    place = w_1
  SQL 'SELECT id, ROW_NUMBER() OVER (PARTITION BY buyer ORDER BY price DESC) AS place FROM sale';

VIEW sums[part_1 STRING, id INT, buyer STRING, price DECIMAL(9, 2), day DATE, w_1 DECIMAL(19, 2) NULL, w_2 DECIMAL(9, 2) NULL]
  ROWS sums_windows
  COLUMNS id = id,
    so_far = w_1,
    before = w_2
  SQL 'SELECT id, SUM(price) OVER (PARTITION BY buyer ORDER BY day, id) AS so_far, LAG(price) OVER (PARTITION BY buyer ORDER BY day, id) AS before FROM sale';

VIEW best[part_1 STRING NULL, town STRING NULL, buyer STRING, r DECIMAL(19, 2) NULL, w_1 INT]
  ROWS best_windows
  COLUMNS town = town,
    buyer = buyer,
    r = w_1
  HAVING w_1 <= 3
  SQL 'SELECT * FROM (SELECT town, buyer, RANK() OVER (PARTITION BY town ORDER BY SUM(price) DESC) AS r FROM sale JOIN buyer ON buyer = name GROUP BY town, buyer) x WHERE r <= 3';

ON +sale(id, buyer, item, price, day, moment, note) DO {
  best_groups_count[town, buyer] += m_buyer_1[buyer, town];
  best_groups_r[town, buyer] += price * m_buyer_1[buyer, town];
  places_windows_rows[buyer, id, buyer, price] += 1;
  sums_windows_rows[buyer, id, buyer, price, day] += 1;
  m_sale_1[buyer] += 1;
  m_sale_2[buyer] += price;
}

ON -sale(id, buyer, item, price, day, moment, note) DO {
  best_groups_count[town, buyer] += -1 * m_buyer_1[buyer, town];
  best_groups_r[town, buyer] += -1 * price * m_buyer_1[buyer, town];
  places_windows_rows[buyer, id, buyer, price] += -1;
  sums_windows_rows[buyer, id, buyer, price, day] += -1;
  m_sale_1[buyer] += -1;
  m_sale_2[buyer] += -1 * price;
}

ON +buyer(name, town) DO {
  best_groups_count[town, name] += m_sale_1[name];
  best_groups_r[town, name] += m_sale_2[name];
  m_buyer_1[name, town] += 1;
}

ON -buyer(name, town) DO {
  best_groups_count[town, name] += -1 * m_sale_1[name];
  best_groups_r[town, name] += -1 * m_sale_2[name];
  m_buyer_1[name, town] += -1;
}

ON CHANGE best_groups(town, buyer, r_2) DO {
  best_windows_rows[town, town, buyer, r_2] += 1;
}
