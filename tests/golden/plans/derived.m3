PROGRAM test SEMANTICS SNAPSHOT;

RELATION sale(id INT, buyer STRING, item INT, price DECIMAL(9, 2), day DATE, moment TIMESTAMP, note STRING NULL) KEY (id) ROWS 100000;
RELATION buyer(name STRING, town STRING NULL) KEY (name) ROWS 5000;
RELATION item(no INT, kind STRING, weight DOUBLE NULL);

MAP extremes_distinct_n[buyer STRING, value0 INT] : INT
  MEANING 'SELECT sale.buyer, sale.item, COUNT(*) FROM sale GROUP BY sale.buyer, sale.item';
MAP extremes_groups_count[buyer STRING] : INT
  MEANING 'SELECT sale.buyer, COUNT(*) FROM sale GROUP BY sale.buyer';
MAP extremes_groups_least[buyer STRING, value0 DECIMAL(9, 2)] : INT
  MEANING 'SELECT sale.buyer, sale.price, COUNT(*) FROM sale GROUP BY sale.buyer, sale.price';
MAP extremes_groups_items[buyer STRING] : INT
  MEANING 'SELECT extremes_distinct.buyer, COUNT(*) FROM extremes_distinct GROUP BY extremes_distinct.buyer';
MAP above_groups_count[] : INT
  MEANING 'SELECT COUNT(*) FROM sale';
MAP above_groups_avg_sum[] : DECIMAL(19, 2)
  MEANING 'SELECT SUM(sale.price) FROM sale';
MAP distinct_notes_distinct_n[note STRING NULL] : INT
  MEANING 'SELECT sale.note, COUNT(*) FROM sale WHERE sale.note LIKE ''a%'' GROUP BY sale.note';
MAP latest_groups_item_by_value1[buyer STRING, value1 TIMESTAMP, value0 INT] : INT
  MEANING 'SELECT sale.buyer, sale.moment, sale.item, COUNT(*) FROM sale GROUP BY sale.buyer, sale.moment, sale.item';
MAP spread_groups_count[kind STRING] : INT
  MEANING 'SELECT item.kind, COUNT(*) FROM item GROUP BY item.kind';
MAP spread_groups_s[kind STRING, value0 DOUBLE] : INT
  MEANING 'SELECT item.kind, item.weight, COUNT(*) FROM item WHERE NOT item.weight IS NULL GROUP BY item.kind, item.weight';
MAP large_sum[buyer STRING] : DECIMAL(19, 2)
  MEANING 'SELECT sale.buyer, SUM(sale.price) FROM sale GROUP BY sale.buyer';
MAP above_count[] : INT
  MEANING 'SELECT COUNT(*) FROM sale, above_groups WHERE sale.price > above_groups.avg';
MAP m_sale_1[price DECIMAL(9, 2)] : INT
  MEANING 'SELECT sale.price, COUNT(*) FROM sale GROUP BY sale.price';
MAP extremes_distinct[buyer STRING, value0 INT] : INT
  MEANING 'one row per (buyer, value0)';
MAP extremes_groups[buyer STRING, least_2 DECIMAL(9, 2) NULL, most_2 DECIMAL(9, 2) NULL, items_2 INT] : INT
  MEANING 'one row per (buyer)';
MAP above_groups[avg DECIMAL(38, 19) NULL] : INT
  MEANING 'one row';
MAP distinct_notes_distinct[note STRING NULL] : INT
  MEANING 'one row per (note)';
MAP latest_groups[buyer STRING, item_2 INT NULL] : INT
  MEANING 'one row per (buyer)';
MAP spread_groups[kind STRING, s_2 DOUBLE NULL, m_2 DOUBLE NULL] : INT
  MEANING 'one row per (kind)';

DERIVE extremes_distinct[buyer, value0]
  FROM n = extremes_distinct_n
  COUNT CASE WHEN n > 0 THEN 1 ELSE 0 END;
DERIVE extremes_groups[buyer]
  FROM count = extremes_groups_count, least = MIN(extremes_groups_least), most = MAX(extremes_groups_least), items = extremes_groups_items
  SELECT least_2 = least,
    most_2 = most,
    items_2 = items
  COUNT CASE WHEN count > 0 THEN 1 ELSE 0 END;
DERIVE above_groups[]
  FROM count = above_groups_count, avg_sum = above_groups_avg_sum
  SELECT avg = CASE WHEN count > 0 THEN (avg_sum / count) :: DECIMAL(38, 19) ELSE NULL :: DECIMAL(38, 19) END
  COUNT CASE WHEN count > 0 THEN 1 ELSE 0 END;
DERIVE distinct_notes_distinct[note]
  FROM n = distinct_notes_distinct_n
  COUNT CASE WHEN n > 0 THEN 1 ELSE 0 END;
DERIVE latest_groups[buyer]
  FROM count = extremes_groups_count, item_by_value1 = MAX(latest_groups_item_by_value1), item = MIN(latest_groups_item_by_value1 AT item_by_value1)
  SELECT item_2 = item
  COUNT CASE WHEN count > 0 THEN 1 ELSE 0 END;
DERIVE spread_groups[kind]
  FROM count = spread_groups_count, s = STDDEV_SAMP(spread_groups_s), m = PERCENTILE_CONT(spread_groups_s WITH 0.5)
  SELECT s_2 = s,
    m_2 = m
  COUNT CASE WHEN count > 0 THEN 1 ELSE 0 END;

VIEW extremes[buyer STRING, least_2 DECIMAL(9, 2) NULL, most_2 DECIMAL(9, 2) NULL, items_2 INT]
  ROWS extremes_groups
  COLUMNS buyer = buyer,
    least = least_2,
    most = most_2,
    items = items_2
  SQL 'SELECT buyer, MIN(price) AS least, MAX(price) AS most, COUNT(DISTINCT item) AS items FROM sale GROUP BY buyer';

VIEW large[buyer STRING]
  VALUES sum = large_sum, count = extremes_groups_count
  EXISTS extremes_groups_count
  COLUMNS buyer = buyer,
    money = sum
  HAVING (sum > 100) :: BOOL NULL AND count > 2
  SQL 'SELECT buyer, SUM(price) AS money FROM sale GROUP BY buyer HAVING SUM(price) > 100 AND COUNT(*) > 2';

VIEW above[]
  VALUES count = above_count
  EXISTS above_count
  COLUMNS n = count
  SQL 'SELECT COUNT(*) AS n FROM sale WHERE price > (SELECT AVG(price) FROM sale)';

VIEW distinct_notes[note STRING NULL]
  ROWS distinct_notes_distinct
  COLUMNS note = note
  SQL 'SELECT DISTINCT note FROM sale WHERE note LIKE ''a%''';

VIEW latest[buyer STRING, item_2 INT NULL]
  ROWS latest_groups
  COLUMNS buyer = buyer,
    item = item_2
  SQL 'SELECT buyer, MAX_BY(item, moment) AS item FROM sale GROUP BY buyer';

VIEW spread[kind STRING, s_2 DOUBLE NULL, m_2 DOUBLE NULL]
  ROWS spread_groups
  COLUMNS kind = kind,
    s = s_2,
    m = m_2
  SQL 'SELECT kind, STDDEV(weight) AS s, MEDIAN(weight) AS m FROM item GROUP BY kind';

ON +sale(id, buyer, item, price, day, moment, note) DO {
  above_count[] += IF price > avg THEN above_groups[avg] ELSE 0;
  extremes_distinct_n[buyer, item] += 1;
  extremes_groups_count[buyer] += 1;
  extremes_groups_least[buyer, price] += 1;
  above_groups_count[] += 1;
  above_groups_avg_sum[] += price;
  distinct_notes_distinct_n[note] += IF note LIKE 'a%' THEN 1 ELSE 0;
  latest_groups_item_by_value1[buyer, moment, item] += 1;
  large_sum[buyer] += price;
  m_sale_1[price] += 1;
}

ON -sale(id, buyer, item, price, day, moment, note) DO {
  above_count[] += IF price > avg THEN -1 * above_groups[avg] ELSE 0;
  extremes_distinct_n[buyer, item] += -1;
  extremes_groups_count[buyer] += -1;
  extremes_groups_least[buyer, price] += -1;
  above_groups_count[] += -1;
  above_groups_avg_sum[] += -1 * price;
  distinct_notes_distinct_n[note] += IF note LIKE 'a%' THEN -1 ELSE 0;
  latest_groups_item_by_value1[buyer, moment, item] += -1;
  large_sum[buyer] += -1 * price;
  m_sale_1[price] += -1;
}

ON +item(no, kind, weight) DO {
  spread_groups_count[kind] += 1;
  spread_groups_s[kind, weight] += IF NOT weight IS NULL THEN 1 ELSE 0;
}

ON -item(no, kind, weight) DO {
  spread_groups_count[kind] += -1;
  spread_groups_s[kind, weight] += IF NOT weight IS NULL THEN -1 ELSE 0;
}

ON CHANGE extremes_distinct(buyer, value0) DO {
  extremes_groups_items[buyer] += 1;
}

ON CHANGE above_groups(avg) DO {
  above_count[] += IF price > avg THEN m_sale_1[price] ELSE 0;
}
