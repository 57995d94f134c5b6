PROGRAM q17 SEMANTICS SNAPSHOT;

RELATION region(r_regionkey INT, r_name STRING, r_comment STRING) KEY (r_regionkey);
RELATION nation(n_nationkey INT, n_name STRING, n_regionkey INT, n_comment STRING) KEY (n_nationkey);
RELATION supplier(s_suppkey INT, s_name STRING, s_address STRING, s_nationkey INT, s_phone STRING, s_acctbal DECIMAL(15, 2), s_comment STRING) KEY (s_suppkey);
RELATION customer(c_custkey INT, c_name STRING, c_address STRING, c_nationkey INT, c_phone STRING, c_acctbal DECIMAL(15, 2), c_mktsegment STRING, c_comment STRING) KEY (c_custkey);
RELATION part(p_partkey INT, p_name STRING, p_mfgr STRING, p_brand STRING, p_type STRING, p_size INT, p_container STRING, p_retailprice DECIMAL(15, 2), p_comment STRING) KEY (p_partkey);
RELATION partsupp(ps_partkey INT, ps_suppkey INT, ps_availqty INT, ps_supplycost DECIMAL(15, 2), ps_comment STRING) KEY (ps_partkey, ps_suppkey);
RELATION orders(o_orderkey INT, o_custkey INT, o_orderstatus STRING, o_totalprice DECIMAL(15, 2), o_orderdate DATE, o_orderpriority STRING, o_clerk STRING, o_shippriority INT, o_comment STRING) KEY (o_orderkey);
RELATION lineitem(l_orderkey INT, l_partkey INT, l_suppkey INT, l_linenumber INT, l_quantity DECIMAL(15, 2), l_extendedprice DECIMAL(15, 2), l_discount DECIMAL(15, 2), l_tax DECIMAL(15, 2), l_returnflag STRING, l_linestatus STRING, l_shipdate DATE, l_commitdate DATE, l_receiptdate DATE, l_shipinstruct STRING, l_shipmode STRING, l_comment STRING) KEY (l_orderkey, l_linenumber);

MAP q17_groups_count[l_partkey INT] : INT
  MEANING 'SELECT lineitem.l_partkey, COUNT(*) FROM lineitem GROUP BY lineitem.l_partkey';
MAP q17_groups_avg_sum[l_partkey INT] : DECIMAL(25, 2)
  MEANING 'SELECT lineitem.l_partkey, SUM(lineitem.l_quantity) FROM lineitem GROUP BY lineitem.l_partkey';
MAP q17_count[] : INT
  MEANING 'SELECT COUNT(*) FROM lineitem, part, q17_groups WHERE lineitem.l_partkey = part.p_partkey AND lineitem.l_partkey = q17_groups.l_partkey AND part.p_brand = ''Brand#23'' AND part.p_container = ''MED BOX'' AND lineitem.l_quantity < (0.2 * q17_groups.avg)';
MAP q17_avg_yearly[] : DECIMAL(25, 2)
  MEANING 'SELECT SUM(lineitem.l_extendedprice) FROM lineitem, part, q17_groups WHERE lineitem.l_partkey = part.p_partkey AND lineitem.l_partkey = q17_groups.l_partkey AND part.p_brand = ''Brand#23'' AND part.p_container = ''MED BOX'' AND lineitem.l_quantity < (0.2 * q17_groups.avg)';
MAP m_part_1[l_partkey INT] : INT
  MEANING 'SELECT part.p_partkey, COUNT(*) FROM part WHERE part.p_brand = ''Brand#23'' AND part.p_container = ''MED BOX'' GROUP BY part.p_partkey';
MAP m_q17_groups_1[part DECIMAL(38, 14) NULL, l_partkey INT] : INT
  MEANING 'SELECT 0.2 * q17_groups.avg, q17_groups.l_partkey, COUNT(*) FROM q17_groups GROUP BY 0.2 * q17_groups.avg, q17_groups.l_partkey';
MAP m_lineitem_1[l_partkey INT, l_quantity DECIMAL(15, 2)] : INT
  MEANING 'SELECT lineitem.l_partkey, lineitem.l_quantity, COUNT(*) FROM lineitem GROUP BY lineitem.l_partkey, lineitem.l_quantity';
MAP m_lineitem_2[l_partkey INT, l_quantity DECIMAL(15, 2)] : DECIMAL(25, 2)
  MEANING 'SELECT lineitem.l_partkey, lineitem.l_quantity, SUM(lineitem.l_extendedprice) FROM lineitem GROUP BY lineitem.l_partkey, lineitem.l_quantity';
MAP q17_groups[l_partkey INT, avg DECIMAL(38, 15) NULL] : INT
  MEANING 'one row per (l_partkey)';

DERIVE q17_groups[l_partkey]
  FROM count = q17_groups_count, avg_sum = q17_groups_avg_sum
  SELECT avg = CASE WHEN count > 0 THEN avg_sum / count ELSE NULL :: DECIMAL(38, 15) END
  COUNT CASE WHEN count > 0 THEN 1 ELSE 0 END;

VIEW q17[]
  VALUES avg_yearly = q17_avg_yearly, count = q17_count
  EXISTS q17_count
  COLUMNS avg_yearly = (CASE WHEN count > 0 THEN avg_yearly ELSE NULL :: DECIMAL(25, 2) END / 7.0) :: DECIMAL(38, 15) NULL
  SQL '-- TPC-H Q17, small-quantity-order revenue; validation parameters BRAND = Brand#23, CONTAINER = MED BOX.
select
    sum(l_extendedprice) / 7.0 as avg_yearly
from
    lineitem,
    part
where
    p_partkey = l_partkey
    and p_brand = ''Brand#23''
    and p_container = ''MED BOX''
    and l_quantity < (
        select
            0.2 * avg(l_quantity)
        from
            lineitem
        where
            l_partkey = p_partkey
    )
';

ON +part(p_partkey, p_name, p_mfgr, p_brand, p_type, p_size, p_container, p_retailprice, p_comment) DO {
  q17_count[] += IF p_brand = 'Brand#23' AND p_container = 'MED BOX' AND l_quantity < part THEN m_q17_groups_1[part, p_partkey] * m_lineitem_1[p_partkey, l_quantity] ELSE 0;
  q17_avg_yearly[] += IF p_brand = 'Brand#23' AND p_container = 'MED BOX' AND l_quantity < part THEN m_q17_groups_1[part, p_partkey] * m_lineitem_2[p_partkey, l_quantity] ELSE 0;
  m_part_1[p_partkey] += IF p_brand = 'Brand#23' AND p_container = 'MED BOX' THEN 1 ELSE 0;
}

ON -part(p_partkey, p_name, p_mfgr, p_brand, p_type, p_size, p_container, p_retailprice, p_comment) DO {
  q17_count[] += IF p_brand = 'Brand#23' AND p_container = 'MED BOX' AND l_quantity < part THEN -1 * m_q17_groups_1[part, p_partkey] * m_lineitem_1[p_partkey, l_quantity] ELSE 0;
  q17_avg_yearly[] += IF p_brand = 'Brand#23' AND p_container = 'MED BOX' AND l_quantity < part THEN -1 * m_q17_groups_1[part, p_partkey] * m_lineitem_2[p_partkey, l_quantity] ELSE 0;
  m_part_1[p_partkey] += IF p_brand = 'Brand#23' AND p_container = 'MED BOX' THEN -1 ELSE 0;
}

ON +lineitem(l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment) DO {
  q17_count[] += IF l_quantity < part THEN m_part_1[l_partkey] * m_q17_groups_1[part, l_partkey] ELSE 0;
  q17_avg_yearly[] += IF l_quantity < part THEN l_extendedprice * m_part_1[l_partkey] * m_q17_groups_1[part, l_partkey] ELSE 0;
  q17_groups_count[l_partkey] += 1;
  q17_groups_avg_sum[l_partkey] += l_quantity;
  m_lineitem_1[l_partkey, l_quantity] += 1;
  m_lineitem_2[l_partkey, l_quantity] += l_extendedprice;
}

ON -lineitem(l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment) DO {
  q17_count[] += IF l_quantity < part THEN -1 * m_part_1[l_partkey] * m_q17_groups_1[part, l_partkey] ELSE 0;
  q17_avg_yearly[] += IF l_quantity < part THEN -1 * l_extendedprice * m_part_1[l_partkey] * m_q17_groups_1[part, l_partkey] ELSE 0;
  q17_groups_count[l_partkey] += -1;
  q17_groups_avg_sum[l_partkey] += -1 * l_quantity;
  m_lineitem_1[l_partkey, l_quantity] += -1;
  m_lineitem_2[l_partkey, l_quantity] += -1 * l_extendedprice;
}

ON CHANGE q17_groups(l_partkey, avg) DO {
  q17_count[] += IF l_quantity < 0.2 * avg THEN m_part_1[l_partkey] * m_lineitem_1[l_partkey, l_quantity] ELSE 0;
  q17_avg_yearly[] += IF l_quantity < 0.2 * avg THEN m_part_1[l_partkey] * m_lineitem_2[l_partkey, l_quantity] ELSE 0;
  m_q17_groups_1[0.2 * avg, l_partkey] += 1;
}
