PROGRAM q1 SEMANTICS SNAPSHOT;

RELATION region(r_regionkey INT, r_name STRING, r_comment STRING) KEY (r_regionkey);
RELATION nation(n_nationkey INT, n_name STRING, n_regionkey INT, n_comment STRING) KEY (n_nationkey);
RELATION supplier(s_suppkey INT, s_name STRING, s_address STRING, s_nationkey INT, s_phone STRING, s_acctbal DECIMAL(15, 2), s_comment STRING) KEY (s_suppkey);
RELATION customer(c_custkey INT, c_name STRING, c_address STRING, c_nationkey INT, c_phone STRING, c_acctbal DECIMAL(15, 2), c_mktsegment STRING, c_comment STRING) KEY (c_custkey);
RELATION orders(o_orderkey INT, o_custkey INT, o_orderstatus STRING, o_totalprice DECIMAL(15, 2), o_orderdate DATE, o_orderpriority STRING, o_clerk STRING, o_shippriority INT, o_comment STRING) KEY (o_orderkey);
RELATION lineitem(l_orderkey INT, l_partkey INT, l_suppkey INT, l_linenumber INT, l_quantity DECIMAL(15, 2), l_extendedprice DECIMAL(15, 2), l_discount DECIMAL(15, 2), l_tax DECIMAL(15, 2), l_returnflag STRING, l_linestatus STRING, l_shipdate DATE, l_commitdate DATE, l_receiptdate DATE, l_shipinstruct STRING, l_shipmode STRING, l_comment STRING) KEY (l_orderkey, l_linenumber);

MAP q1_count[l_returnflag STRING, l_linestatus STRING] : INT
  MEANING 'SELECT lineitem.l_returnflag, lineitem.l_linestatus, COUNT(*) FROM lineitem WHERE lineitem.l_shipdate <= DATE ''1998-09-02'' GROUP BY lineitem.l_returnflag, lineitem.l_linestatus';
MAP q1_sum_qty[l_returnflag STRING, l_linestatus STRING] : DECIMAL(25, 2)
  MEANING 'SELECT lineitem.l_returnflag, lineitem.l_linestatus, SUM(lineitem.l_quantity) FROM lineitem WHERE lineitem.l_shipdate <= DATE ''1998-09-02'' GROUP BY lineitem.l_returnflag, lineitem.l_linestatus';
MAP q1_sum_base_price[l_returnflag STRING, l_linestatus STRING] : DECIMAL(25, 2)
  MEANING 'SELECT lineitem.l_returnflag, lineitem.l_linestatus, SUM(lineitem.l_extendedprice) FROM lineitem WHERE lineitem.l_shipdate <= DATE ''1998-09-02'' GROUP BY lineitem.l_returnflag, lineitem.l_linestatus';
MAP q1_sum_disc_price[l_returnflag STRING, l_linestatus STRING] : DECIMAL(38, 4)
  MEANING 'SELECT lineitem.l_returnflag, lineitem.l_linestatus, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM lineitem WHERE lineitem.l_shipdate <= DATE ''1998-09-02'' GROUP BY lineitem.l_returnflag, lineitem.l_linestatus';
MAP q1_sum_charge[l_returnflag STRING, l_linestatus STRING] : DECIMAL(38, 6)
  MEANING 'SELECT lineitem.l_returnflag, lineitem.l_linestatus, SUM(ATTEMPT(lineitem.l_extendedprice * (1 - lineitem.l_discount) * (1 + lineitem.l_tax))) FROM lineitem WHERE lineitem.l_shipdate <= DATE ''1998-09-02'' GROUP BY lineitem.l_returnflag, lineitem.l_linestatus';
MAP q1_avg_disc_sum[l_returnflag STRING, l_linestatus STRING] : DECIMAL(25, 2)
  MEANING 'SELECT lineitem.l_returnflag, lineitem.l_linestatus, SUM(lineitem.l_discount) FROM lineitem WHERE lineitem.l_shipdate <= DATE ''1998-09-02'' GROUP BY lineitem.l_returnflag, lineitem.l_linestatus';
MAP q1_failed[l_orderkey INT, l_linenumber INT, l_extendedprice DECIMAL(15, 2), l_discount DECIMAL(15, 2), l_tax DECIMAL(15, 2)] : INT
  MEANING 'SELECT lineitem.l_orderkey, lineitem.l_linenumber, lineitem.l_extendedprice, lineitem.l_discount, lineitem.l_tax, COUNT(*) FROM lineitem WHERE lineitem.l_shipdate <= DATE ''1998-09-02'' AND FAILS(lineitem.l_extendedprice * (1 - lineitem.l_discount) * (1 + lineitem.l_tax)) = 1 GROUP BY lineitem.l_orderkey, lineitem.l_linenumber, lineitem.l_extendedprice, lineitem.l_discount, lineitem.l_tax';

VIEW q1[l_returnflag STRING, l_linestatus STRING]
  VALUES sum_qty = q1_sum_qty, sum_base_price = q1_sum_base_price, sum_disc_price = q1_sum_disc_price, sum_charge = q1_sum_charge, count = q1_count, avg_disc_sum = q1_avg_disc_sum
  EXISTS q1_count
  COLUMNS l_returnflag = l_returnflag,
    l_linestatus = l_linestatus,
    sum_qty = sum_qty,
    sum_base_price = sum_base_price,
    sum_disc_price = sum_disc_price,
    sum_charge = sum_charge,
    avg_qty = sum_qty / count,
    avg_price = sum_base_price / count,
    avg_disc = avg_disc_sum / count,
    count_order = count
  ORDER BY 1, 2
  CHECKS q1_failed FAILS l_extendedprice * (1 - l_discount) * (1 + l_tax) OF (lineitem) AT 'q1' 7 7 48 'l_extendedprice * (1 - l_discount) * (1 + l_tax)'
  SQL 'select
  l_returnflag,
  l_linestatus,
  sum(l_quantity) as sum_qty,
  sum(l_extendedprice) as sum_base_price,
  sum(l_extendedprice * (1 - l_discount)) as sum_disc_price,
  sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) as sum_charge,
  avg(l_quantity) as avg_qty,
  avg(l_extendedprice) as avg_price,
  avg(l_discount) as avg_disc,
  count(*) as count_order
from lineitem
where l_shipdate <= date ''1998-12-01'' - interval ''90'' day
group by l_returnflag, l_linestatus
order by l_returnflag, l_linestatus';

ON +lineitem(l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment) DO {
  q1_count[l_returnflag, l_linestatus] += IF l_shipdate <= DATE '1998-09-02' THEN 1 ELSE 0;
  q1_sum_qty[l_returnflag, l_linestatus] += IF l_shipdate <= DATE '1998-09-02' THEN l_quantity ELSE 0;
  q1_sum_base_price[l_returnflag, l_linestatus] += IF l_shipdate <= DATE '1998-09-02' THEN l_extendedprice ELSE 0;
  q1_sum_disc_price[l_returnflag, l_linestatus] += IF l_shipdate <= DATE '1998-09-02' THEN (l_extendedprice * (1 - l_discount)) ELSE 0;
  q1_sum_charge[l_returnflag, l_linestatus] += IF l_shipdate <= DATE '1998-09-02' THEN (ATTEMPT(l_extendedprice * (1 - l_discount) * (1 + l_tax))) ELSE 0;
  q1_avg_disc_sum[l_returnflag, l_linestatus] += IF l_shipdate <= DATE '1998-09-02' THEN l_discount ELSE 0;
  q1_failed[l_orderkey, l_linenumber, l_extendedprice, l_discount, l_tax] += IF l_shipdate <= DATE '1998-09-02' AND FAILS(l_extendedprice * (1 - l_discount) * (1 + l_tax)) = 1 THEN 1 ELSE 0;
}

ON -lineitem(l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment) DO {
  q1_count[l_returnflag, l_linestatus] += IF l_shipdate <= DATE '1998-09-02' THEN -1 ELSE 0;
  q1_sum_qty[l_returnflag, l_linestatus] += IF l_shipdate <= DATE '1998-09-02' THEN -1 * l_quantity ELSE 0;
  q1_sum_base_price[l_returnflag, l_linestatus] += IF l_shipdate <= DATE '1998-09-02' THEN -1 * l_extendedprice ELSE 0;
  q1_sum_disc_price[l_returnflag, l_linestatus] += IF l_shipdate <= DATE '1998-09-02' THEN -1 * (l_extendedprice * (1 - l_discount)) ELSE 0;
  q1_sum_charge[l_returnflag, l_linestatus] += IF l_shipdate <= DATE '1998-09-02' THEN -1 * (ATTEMPT(l_extendedprice * (1 - l_discount) * (1 + l_tax))) ELSE 0;
  q1_avg_disc_sum[l_returnflag, l_linestatus] += IF l_shipdate <= DATE '1998-09-02' THEN -1 * l_discount ELSE 0;
  q1_failed[l_orderkey, l_linenumber, l_extendedprice, l_discount, l_tax] += IF l_shipdate <= DATE '1998-09-02' AND FAILS(l_extendedprice * (1 - l_discount) * (1 + l_tax)) = 1 THEN -1 ELSE 0;
}
