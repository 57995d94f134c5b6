PROGRAM test SEMANTICS SNAPSHOT;

RELATION sale(id INT, buyer STRING, item INT, price DECIMAL(9, 2), day DATE, moment TIMESTAMP, note STRING NULL) KEY (id) ROWS 100000;
RELATION buyer(name STRING, town STRING NULL) KEY (name) ROWS 5000;
RELATION item(no INT, kind STRING, weight DOUBLE NULL);

MAP bought_groups_count[buyer STRING] : INT
  MEANING 'SELECT sale.buyer, COUNT(*) FROM sale GROUP BY sale.buyer';
MAP bought_groups_notes[buyer STRING, value1 STRING, value0 STRING] : INT
  MEANING 'SELECT sale.buyer, sale.note, sale.note, COUNT(*) FROM sale WHERE NOT sale.note IS NULL GROUP BY sale.buyer, sale.note, sale.note';
MAP bought_items[buyer STRING, value1 TIMESTAMP, value0 INT] : INT
  MEANING 'SELECT sale.buyer, sale.moment, sale.item, COUNT(*) FROM sale GROUP BY sale.buyer, sale.moment, sale.item';
MAP kinds_count[kind STRING] : INT
  MEANING 'SELECT item.kind, COUNT(*) FROM item GROUP BY item.kind';
MAP kinds_numbers[kind STRING, value0 INT] : INT
  MEANING 'SELECT item.kind, item.no, COUNT(*) FROM item GROUP BY item.kind, item.no';
MAP bought_groups[buyer STRING, notes_2 STRING NULL] : INT
  MEANING 'one row per (buyer)';

DERIVE bought_groups[buyer]
  FROM count = bought_groups_count, notes = LIST(bought_groups_notes ORDER ASC NULLS FIRST WITH ', ')
  SELECT notes_2 = notes
  COUNT CASE WHEN count > 0 THEN 1 ELSE 0 END;

VIEW bought[buyer STRING, notes_2 STRING NULL]
  LISTS items = LIST(bought_items[buyer] ORDER ASC NULLS FIRST)
  ROWS bought_groups
  COLUMNS buyer = buyer,
    items = items,
    notes = notes_2
  SQL 'SELECT buyer, ARRAY_AGG(item ORDER BY moment) AS items, STRING_AGG(note, '', '' ORDER BY note) AS notes FROM sale GROUP BY buyer';

VIEW kinds[kind STRING]
  LISTS numbers = LIST(kinds_numbers[kind] ORDER DESC NULLS LAST) DISTINCT
  EXISTS kinds_count
  COLUMNS kind = kind,
    numbers = numbers
  SQL 'SELECT kind, ARRAY_AGG(DISTINCT no ORDER BY no DESC) AS numbers FROM item GROUP BY kind';

ON +sale(id, buyer, item, price, day, moment, note) DO {
  bought_groups_count[buyer] += 1;
  bought_groups_notes[buyer, note, note] += IF NOT note IS NULL THEN 1 ELSE 0;
  bought_items[buyer, moment, item] += 1;
}

ON -sale(id, buyer, item, price, day, moment, note) DO {
  bought_groups_count[buyer] += -1;
  bought_groups_notes[buyer, note, note] += IF NOT note IS NULL THEN -1 ELSE 0;
  bought_items[buyer, moment, item] += -1;
}

ON +item(no, kind, weight) DO {
  kinds_count[kind] += 1;
  kinds_numbers[kind, no] += 1;
}

ON -item(no, kind, weight) DO {
  kinds_count[kind] += -1;
  kinds_numbers[kind, no] += -1;
}
