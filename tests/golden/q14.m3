PROGRAM q14 SEMANTICS SNAPSHOT;

RELATION region(r_regionkey INT, r_name STRING, r_comment STRING) KEY (r_regionkey);
RELATION nation(n_nationkey INT, n_name STRING, n_regionkey INT, n_comment STRING) KEY (n_nationkey);
RELATION supplier(s_suppkey INT, s_name STRING, s_address STRING, s_nationkey INT, s_phone STRING, s_acctbal DECIMAL(15, 2), s_comment STRING) KEY (s_suppkey);
RELATION customer(c_custkey INT, c_name STRING, c_address STRING, c_nationkey INT, c_phone STRING, c_acctbal DECIMAL(15, 2), c_mktsegment STRING, c_comment STRING) KEY (c_custkey);
RELATION part(p_partkey INT, p_name STRING, p_mfgr STRING, p_brand STRING, p_type STRING, p_size INT, p_container STRING, p_retailprice DECIMAL(15, 2), p_comment STRING) KEY (p_partkey);
RELATION partsupp(ps_partkey INT, ps_suppkey INT, ps_availqty INT, ps_supplycost DECIMAL(15, 2), ps_comment STRING) KEY (ps_partkey, ps_suppkey);
RELATION orders(o_orderkey INT, o_custkey INT, o_orderstatus STRING, o_totalprice DECIMAL(15, 2), o_orderdate DATE, o_orderpriority STRING, o_clerk STRING, o_shippriority INT, o_comment STRING) KEY (o_orderkey);
RELATION lineitem(l_orderkey INT, l_partkey INT, l_suppkey INT, l_linenumber INT, l_quantity DECIMAL(15, 2), l_extendedprice DECIMAL(15, 2), l_discount DECIMAL(15, 2), l_tax DECIMAL(15, 2), l_returnflag STRING, l_linestatus STRING, l_shipdate DATE, l_commitdate DATE, l_receiptdate DATE, l_shipinstruct STRING, l_shipmode STRING, l_comment STRING) KEY (l_orderkey, l_linenumber);

MAP q14_count[] : INT
  MEANING 'SELECT COUNT(*) FROM lineitem, part WHERE lineitem.l_partkey = part.p_partkey AND lineitem.l_shipdate >= DATE ''1995-09-01'' AND lineitem.l_shipdate < DATE ''1995-10-01''';
MAP q14_promo_revenue[] : DECIMAL(38, 4)
  MEANING 'SELECT SUM((lineitem.l_extendedprice * (1 - lineitem.l_discount)) * (CASE WHEN part.p_type LIKE ''PROMO%'' THEN 1 ELSE 0 END)) FROM lineitem, part WHERE lineitem.l_partkey = part.p_partkey AND lineitem.l_shipdate >= DATE ''1995-09-01'' AND lineitem.l_shipdate < DATE ''1995-10-01''';
MAP q14_promo_revenue_2[] : DECIMAL(38, 4)
  MEANING 'SELECT SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM lineitem, part WHERE lineitem.l_partkey = part.p_partkey AND lineitem.l_shipdate >= DATE ''1995-09-01'' AND lineitem.l_shipdate < DATE ''1995-10-01''';
MAP m_part_1[l_partkey INT] : INT
  MEANING 'SELECT part.p_partkey, COUNT(*) FROM part GROUP BY part.p_partkey';
MAP m_lineitem_1[l_partkey INT] : INT
  MEANING 'SELECT lineitem.l_partkey, COUNT(*) FROM lineitem WHERE lineitem.l_shipdate >= DATE ''1995-09-01'' AND lineitem.l_shipdate < DATE ''1995-10-01'' GROUP BY lineitem.l_partkey';
MAP m_part_2[l_partkey INT] : INT
  MEANING 'SELECT part.p_partkey, SUM(CASE WHEN part.p_type LIKE ''PROMO%'' THEN 1 ELSE 0 END) FROM part GROUP BY part.p_partkey';
MAP m_lineitem_2[l_partkey INT] : DECIMAL(38, 4)
  MEANING 'SELECT lineitem.l_partkey, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM lineitem WHERE lineitem.l_shipdate >= DATE ''1995-09-01'' AND lineitem.l_shipdate < DATE ''1995-10-01'' GROUP BY lineitem.l_partkey';

VIEW q14[]
  VALUES promo_revenue = q14_promo_revenue, count = q14_count, promo_revenue_2 = q14_promo_revenue_2
  EXISTS q14_count
  COLUMNS promo_revenue = 100.00 * CASE WHEN count > 0 THEN promo_revenue ELSE NULL :: DECIMAL(38, 4) END / CASE WHEN count > 0 THEN promo_revenue_2 ELSE NULL :: DECIMAL(38, 4) END
  SQL '-- TPC-H Q14, promotion effect; validation parameter DATE = 1995-09-01.
select
    100.00 * sum(
        case
            when p_type like ''PROMO%'' then l_extendedprice * (1 - l_discount)
            else 0
        end
    ) / sum(l_extendedprice * (1 - l_discount)) as promo_revenue
from
    lineitem,
    part
where
    l_partkey = p_partkey
    and l_shipdate >= date ''1995-09-01''
    and l_shipdate < date ''1995-09-01'' + interval ''1'' month
';

ON +part(p_partkey, p_name, p_mfgr, p_brand, p_type, p_size, p_container, p_retailprice, p_comment) DO {
  q14_count[] += m_lineitem_1[p_partkey];
  q14_promo_revenue[] += (CASE WHEN p_type LIKE 'PROMO%' THEN 1 ELSE 0 END) * m_lineitem_2[p_partkey];
  q14_promo_revenue_2[] += m_lineitem_2[p_partkey];
  m_part_1[p_partkey] += 1;
  m_part_2[p_partkey] += (CASE WHEN p_type LIKE 'PROMO%' THEN 1 ELSE 0 END);
}

ON -part(p_partkey, p_name, p_mfgr, p_brand, p_type, p_size, p_container, p_retailprice, p_comment) DO {
  q14_count[] += -1 * m_lineitem_1[p_partkey];
  q14_promo_revenue[] += -1 * (CASE WHEN p_type LIKE 'PROMO%' THEN 1 ELSE 0 END) * m_lineitem_2[p_partkey];
  q14_promo_revenue_2[] += -1 * m_lineitem_2[p_partkey];
  m_part_1[p_partkey] += -1;
  m_part_2[p_partkey] += -1 * (CASE WHEN p_type LIKE 'PROMO%' THEN 1 ELSE 0 END);
}

ON +lineitem(l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment) DO {
  q14_count[] += IF l_shipdate >= DATE '1995-09-01' AND l_shipdate < DATE '1995-10-01' THEN m_part_1[l_partkey] ELSE 0;
  q14_promo_revenue[] += IF l_shipdate >= DATE '1995-09-01' AND l_shipdate < DATE '1995-10-01' THEN (l_extendedprice * (1 - l_discount)) * m_part_2[l_partkey] ELSE 0;
  q14_promo_revenue_2[] += IF l_shipdate >= DATE '1995-09-01' AND l_shipdate < DATE '1995-10-01' THEN (l_extendedprice * (1 - l_discount)) * m_part_1[l_partkey] ELSE 0;
  m_lineitem_1[l_partkey] += IF l_shipdate >= DATE '1995-09-01' AND l_shipdate < DATE '1995-10-01' THEN 1 ELSE 0;
  m_lineitem_2[l_partkey] += IF l_shipdate >= DATE '1995-09-01' AND l_shipdate < DATE '1995-10-01' THEN (l_extendedprice * (1 - l_discount)) ELSE 0;
}

ON -lineitem(l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment) DO {
  q14_count[] += IF l_shipdate >= DATE '1995-09-01' AND l_shipdate < DATE '1995-10-01' THEN -1 * m_part_1[l_partkey] ELSE 0;
  q14_promo_revenue[] += IF l_shipdate >= DATE '1995-09-01' AND l_shipdate < DATE '1995-10-01' THEN -1 * (l_extendedprice * (1 - l_discount)) * m_part_2[l_partkey] ELSE 0;
  q14_promo_revenue_2[] += IF l_shipdate >= DATE '1995-09-01' AND l_shipdate < DATE '1995-10-01' THEN -1 * (l_extendedprice * (1 - l_discount)) * m_part_1[l_partkey] ELSE 0;
  m_lineitem_1[l_partkey] += IF l_shipdate >= DATE '1995-09-01' AND l_shipdate < DATE '1995-10-01' THEN -1 ELSE 0;
  m_lineitem_2[l_partkey] += IF l_shipdate >= DATE '1995-09-01' AND l_shipdate < DATE '1995-10-01' THEN -1 * (l_extendedprice * (1 - l_discount)) ELSE 0;
}
