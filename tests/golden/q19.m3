PROGRAM q19 SEMANTICS SNAPSHOT;

RELATION region(r_regionkey INT, r_name STRING, r_comment STRING) KEY (r_regionkey);
RELATION nation(n_nationkey INT, n_name STRING, n_regionkey INT, n_comment STRING) KEY (n_nationkey);
RELATION supplier(s_suppkey INT, s_name STRING, s_address STRING, s_nationkey INT, s_phone STRING, s_acctbal DECIMAL(15, 2), s_comment STRING) KEY (s_suppkey);
RELATION customer(c_custkey INT, c_name STRING, c_address STRING, c_nationkey INT, c_phone STRING, c_acctbal DECIMAL(15, 2), c_mktsegment STRING, c_comment STRING) KEY (c_custkey);
RELATION part(p_partkey INT, p_name STRING, p_mfgr STRING, p_brand STRING, p_type STRING, p_size INT, p_container STRING, p_retailprice DECIMAL(15, 2), p_comment STRING) KEY (p_partkey);
RELATION partsupp(ps_partkey INT, ps_suppkey INT, ps_availqty INT, ps_supplycost DECIMAL(15, 2), ps_comment STRING) KEY (ps_partkey, ps_suppkey);
RELATION orders(o_orderkey INT, o_custkey INT, o_orderstatus STRING, o_totalprice DECIMAL(15, 2), o_orderdate DATE, o_orderpriority STRING, o_clerk STRING, o_shippriority INT, o_comment STRING) KEY (o_orderkey);
RELATION lineitem(l_orderkey INT, l_partkey INT, l_suppkey INT, l_linenumber INT, l_quantity DECIMAL(15, 2), l_extendedprice DECIMAL(15, 2), l_discount DECIMAL(15, 2), l_tax DECIMAL(15, 2), l_returnflag STRING, l_linestatus STRING, l_shipdate DATE, l_commitdate DATE, l_receiptdate DATE, l_shipinstruct STRING, l_shipmode STRING, l_comment STRING) KEY (l_orderkey, l_linenumber);

MAP q19_count[] : INT
  MEANING 'SELECT COUNT(*) FROM lineitem, part WHERE lineitem.l_partkey = part.p_partkey AND lineitem.l_shipmode IN (''AIR'', ''AIR REG'') AND lineitem.l_shipinstruct = ''DELIVER IN PERSON'' AND (lineitem.l_quantity >= 1 AND lineitem.l_quantity <= 11 OR lineitem.l_quantity >= 10 AND lineitem.l_quantity <= 20 OR lineitem.l_quantity >= 20 AND lineitem.l_quantity <= 30) AND part.p_size >= 1 AND (part.p_brand = ''Brand#12'' AND part.p_container IN (''SM CASE'', ''SM BOX'', ''SM PACK'', ''SM PKG'') AND part.p_size <= 5 OR part.p_brand = ''Brand#23'' AND part.p_container IN (''MED BAG'', ''MED BOX'', ''MED PKG'', ''MED PACK'') AND part.p_size <= 10 OR part.p_brand = ''Brand#34'' AND part.p_container IN (''LG CASE'', ''LG BOX'', ''LG PACK'', ''LG PKG'') AND part.p_size <= 15) AND ((part.p_brand = ''Brand#12'') AND (part.p_container IN (''SM CASE'', ''SM BOX'', ''SM PACK'', ''SM PKG'')) AND (lineitem.l_quantity >= 1) AND (lineitem.l_quantity <= 11) AND (part.p_size <= 5) OR (part.p_brand = ''Brand#23'') AND (part.p_container IN (''MED BAG'', ''MED BOX'', ''MED PKG'', ''MED PACK'')) AND (lineitem.l_quantity >= 10) AND (lineitem.l_quantity <= 20) AND (part.p_size <= 10) OR (part.p_brand = ''Brand#34'') AND (part.p_container IN (''LG CASE'', ''LG BOX'', ''LG PACK'', ''LG PKG'')) AND (lineitem.l_quantity >= 20) AND (lineitem.l_quantity <= 30) AND (part.p_size <= 15))';
MAP q19_revenue[] : DECIMAL(38, 4)
  MEANING 'SELECT SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM lineitem, part WHERE lineitem.l_partkey = part.p_partkey AND lineitem.l_shipmode IN (''AIR'', ''AIR REG'') AND lineitem.l_shipinstruct = ''DELIVER IN PERSON'' AND (lineitem.l_quantity >= 1 AND lineitem.l_quantity <= 11 OR lineitem.l_quantity >= 10 AND lineitem.l_quantity <= 20 OR lineitem.l_quantity >= 20 AND lineitem.l_quantity <= 30) AND part.p_size >= 1 AND (part.p_brand = ''Brand#12'' AND part.p_container IN (''SM CASE'', ''SM BOX'', ''SM PACK'', ''SM PKG'') AND part.p_size <= 5 OR part.p_brand = ''Brand#23'' AND part.p_container IN (''MED BAG'', ''MED BOX'', ''MED PKG'', ''MED PACK'') AND part.p_size <= 10 OR part.p_brand = ''Brand#34'' AND part.p_container IN (''LG CASE'', ''LG BOX'', ''LG PACK'', ''LG PKG'') AND part.p_size <= 15) AND ((part.p_brand = ''Brand#12'') AND (part.p_container IN (''SM CASE'', ''SM BOX'', ''SM PACK'', ''SM PKG'')) AND (lineitem.l_quantity >= 1) AND (lineitem.l_quantity <= 11) AND (part.p_size <= 5) OR (part.p_brand = ''Brand#23'') AND (part.p_container IN (''MED BAG'', ''MED BOX'', ''MED PKG'', ''MED PACK'')) AND (lineitem.l_quantity >= 10) AND (lineitem.l_quantity <= 20) AND (part.p_size <= 10) OR (part.p_brand = ''Brand#34'') AND (part.p_container IN (''LG CASE'', ''LG BOX'', ''LG PACK'', ''LG PKG'')) AND (lineitem.l_quantity >= 20) AND (lineitem.l_quantity <= 30) AND (part.p_size <= 15))';
MAP m_part_1[part BOOL, part_6 BOOL, part_11 BOOL, part_12 BOOL, part_7 BOOL, part_2 BOOL, part_10 BOOL, part_15 BOOL, part_5 BOOL, p_partkey INT] : INT
  MEANING 'SELECT part.p_brand = ''Brand#12'', part.p_brand = ''Brand#23'', part.p_brand = ''Brand#34'', part.p_container IN (''LG CASE'', ''LG BOX'', ''LG PACK'', ''LG PKG''), part.p_container IN (''MED BAG'', ''MED BOX'', ''MED PKG'', ''MED PACK''), part.p_container IN (''SM CASE'', ''SM BOX'', ''SM PACK'', ''SM PKG''), part.p_size <= 10, part.p_size <= 15, part.p_size <= 5, part.p_partkey, COUNT(*) FROM part WHERE part.p_size >= 1 AND (part.p_brand = ''Brand#12'' AND part.p_container IN (''SM CASE'', ''SM BOX'', ''SM PACK'', ''SM PKG'') AND part.p_size <= 5 OR part.p_brand = ''Brand#23'' AND part.p_container IN (''MED BAG'', ''MED BOX'', ''MED PKG'', ''MED PACK'') AND part.p_size <= 10 OR part.p_brand = ''Brand#34'' AND part.p_container IN (''LG CASE'', ''LG BOX'', ''LG PACK'', ''LG PKG'') AND part.p_size <= 15) GROUP BY part.p_brand = ''Brand#12'', part.p_brand = ''Brand#23'', part.p_brand = ''Brand#34'', part.p_container IN (''LG CASE'', ''LG BOX'', ''LG PACK'', ''LG PKG''), part.p_container IN (''MED BAG'', ''MED BOX'', ''MED PKG'', ''MED PACK''), part.p_container IN (''SM CASE'', ''SM BOX'', ''SM PACK'', ''SM PKG''), part.p_size <= 10, part.p_size <= 15, part.p_size <= 5, part.p_partkey';
MAP m_lineitem_1[part_3 BOOL, part_8 BOOL, part_13 BOOL, part_4 BOOL, part_9 BOOL, part_14 BOOL, p_partkey INT] : INT
  MEANING 'SELECT lineitem.l_quantity >= 1, lineitem.l_quantity >= 10, lineitem.l_quantity >= 20, lineitem.l_quantity <= 11, lineitem.l_quantity <= 20, lineitem.l_quantity <= 30, lineitem.l_partkey, COUNT(*) FROM lineitem WHERE lineitem.l_shipmode IN (''AIR'', ''AIR REG'') AND lineitem.l_shipinstruct = ''DELIVER IN PERSON'' AND (lineitem.l_quantity >= 1 AND lineitem.l_quantity <= 11 OR lineitem.l_quantity >= 10 AND lineitem.l_quantity <= 20 OR lineitem.l_quantity >= 20 AND lineitem.l_quantity <= 30) GROUP BY lineitem.l_quantity >= 1, lineitem.l_quantity >= 10, lineitem.l_quantity >= 20, lineitem.l_quantity <= 11, lineitem.l_quantity <= 20, lineitem.l_quantity <= 30, lineitem.l_partkey';
MAP m_lineitem_2[part_3 BOOL, part_8 BOOL, part_13 BOOL, part_4 BOOL, part_9 BOOL, part_14 BOOL, p_partkey INT] : DECIMAL(38, 4)
  MEANING 'SELECT lineitem.l_quantity >= 1, lineitem.l_quantity >= 10, lineitem.l_quantity >= 20, lineitem.l_quantity <= 11, lineitem.l_quantity <= 20, lineitem.l_quantity <= 30, lineitem.l_partkey, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM lineitem WHERE lineitem.l_shipmode IN (''AIR'', ''AIR REG'') AND lineitem.l_shipinstruct = ''DELIVER IN PERSON'' AND (lineitem.l_quantity >= 1 AND lineitem.l_quantity <= 11 OR lineitem.l_quantity >= 10 AND lineitem.l_quantity <= 20 OR lineitem.l_quantity >= 20 AND lineitem.l_quantity <= 30) GROUP BY lineitem.l_quantity >= 1, lineitem.l_quantity >= 10, lineitem.l_quantity >= 20, lineitem.l_quantity <= 11, lineitem.l_quantity <= 20, lineitem.l_quantity <= 30, lineitem.l_partkey';

VIEW q19[]
  VALUES revenue = q19_revenue, count = q19_count
  EXISTS q19_count
  COLUMNS revenue = CASE WHEN count > 0 THEN revenue ELSE NULL :: DECIMAL(38, 4) END
  SQL '-- TPC-H Q19, discounted revenue; validation parameters QUANTITY1 = 1, QUANTITY2 = 10, QUANTITY3 = 20,
-- BRAND1 = Brand#12, BRAND2 = Brand#23, BRAND3 = Brand#34.
select
    sum(l_extendedprice * (1 - l_discount)) as revenue
from
    lineitem,
    part
where
    (
        p_partkey = l_partkey
        and p_brand = ''Brand#12''
        and p_container in (''SM CASE'', ''SM BOX'', ''SM PACK'', ''SM PKG'')
        and l_quantity >= 1
        and l_quantity <= 1 + 10
        and p_size between 1 and 5
        and l_shipmode in (''AIR'', ''AIR REG'')
        and l_shipinstruct = ''DELIVER IN PERSON''
    )
    or (
        p_partkey = l_partkey
        and p_brand = ''Brand#23''
        and p_container in (''MED BAG'', ''MED BOX'', ''MED PKG'', ''MED PACK'')
        and l_quantity >= 10
        and l_quantity <= 10 + 10
        and p_size between 1 and 10
        and l_shipmode in (''AIR'', ''AIR REG'')
        and l_shipinstruct = ''DELIVER IN PERSON''
    )
    or (
        p_partkey = l_partkey
        and p_brand = ''Brand#34''
        and p_container in (''LG CASE'', ''LG BOX'', ''LG PACK'', ''LG PKG'')
        and l_quantity >= 20
        and l_quantity <= 20 + 10
        and p_size between 1 and 15
        and l_shipmode in (''AIR'', ''AIR REG'')
        and l_shipinstruct = ''DELIVER IN PERSON''
    )
';

ON +part(p_partkey, p_name, p_mfgr, p_brand, p_type, p_size, p_container, p_retailprice, p_comment) DO {
  q19_count[] += IF p_size >= 1 AND (p_brand = 'Brand#12' AND p_container IN ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG') AND p_size <= 5 OR p_brand = 'Brand#23' AND p_container IN ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK') AND p_size <= 10 OR p_brand = 'Brand#34' AND p_container IN ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG') AND p_size <= 15) AND (p_brand = 'Brand#12' AND p_container IN ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG') AND part_3 AND part_4 AND p_size <= 5 OR p_brand = 'Brand#23' AND p_container IN ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK') AND part_8 AND part_9 AND p_size <= 10 OR p_brand = 'Brand#34' AND p_container IN ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG') AND part_13 AND part_14 AND p_size <= 15) THEN m_lineitem_1[part_3, part_8, part_13, part_4, part_9, part_14, p_partkey] ELSE 0;
  q19_revenue[] += IF p_size >= 1 AND (p_brand = 'Brand#12' AND p_container IN ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG') AND p_size <= 5 OR p_brand = 'Brand#23' AND p_container IN ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK') AND p_size <= 10 OR p_brand = 'Brand#34' AND p_container IN ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG') AND p_size <= 15) AND (p_brand = 'Brand#12' AND p_container IN ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG') AND part_3 AND part_4 AND p_size <= 5 OR p_brand = 'Brand#23' AND p_container IN ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK') AND part_8 AND part_9 AND p_size <= 10 OR p_brand = 'Brand#34' AND p_container IN ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG') AND part_13 AND part_14 AND p_size <= 15) THEN m_lineitem_2[part_3, part_8, part_13, part_4, part_9, part_14, p_partkey] ELSE 0;
  m_part_1[p_brand = 'Brand#12', p_brand = 'Brand#23', p_brand = 'Brand#34', p_container IN ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG'), p_container IN ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK'), p_container IN ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG'), p_size <= 10, p_size <= 15, p_size <= 5, p_partkey] += IF p_size >= 1 AND (p_brand = 'Brand#12' AND p_container IN ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG') AND p_size <= 5 OR p_brand = 'Brand#23' AND p_container IN ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK') AND p_size <= 10 OR p_brand = 'Brand#34' AND p_container IN ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG') AND p_size <= 15) THEN 1 ELSE 0;
}

ON -part(p_partkey, p_name, p_mfgr, p_brand, p_type, p_size, p_container, p_retailprice, p_comment) DO {
  q19_count[] += IF p_size >= 1 AND (p_brand = 'Brand#12' AND p_container IN ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG') AND p_size <= 5 OR p_brand = 'Brand#23' AND p_container IN ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK') AND p_size <= 10 OR p_brand = 'Brand#34' AND p_container IN ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG') AND p_size <= 15) AND (p_brand = 'Brand#12' AND p_container IN ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG') AND part_3 AND part_4 AND p_size <= 5 OR p_brand = 'Brand#23' AND p_container IN ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK') AND part_8 AND part_9 AND p_size <= 10 OR p_brand = 'Brand#34' AND p_container IN ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG') AND part_13 AND part_14 AND p_size <= 15) THEN -1 * m_lineitem_1[part_3, part_8, part_13, part_4, part_9, part_14, p_partkey] ELSE 0;
  q19_revenue[] += IF p_size >= 1 AND (p_brand = 'Brand#12' AND p_container IN ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG') AND p_size <= 5 OR p_brand = 'Brand#23' AND p_container IN ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK') AND p_size <= 10 OR p_brand = 'Brand#34' AND p_container IN ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG') AND p_size <= 15) AND (p_brand = 'Brand#12' AND p_container IN ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG') AND part_3 AND part_4 AND p_size <= 5 OR p_brand = 'Brand#23' AND p_container IN ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK') AND part_8 AND part_9 AND p_size <= 10 OR p_brand = 'Brand#34' AND p_container IN ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG') AND part_13 AND part_14 AND p_size <= 15) THEN -1 * m_lineitem_2[part_3, part_8, part_13, part_4, part_9, part_14, p_partkey] ELSE 0;
  m_part_1[p_brand = 'Brand#12', p_brand = 'Brand#23', p_brand = 'Brand#34', p_container IN ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG'), p_container IN ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK'), p_container IN ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG'), p_size <= 10, p_size <= 15, p_size <= 5, p_partkey] += IF p_size >= 1 AND (p_brand = 'Brand#12' AND p_container IN ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG') AND p_size <= 5 OR p_brand = 'Brand#23' AND p_container IN ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK') AND p_size <= 10 OR p_brand = 'Brand#34' AND p_container IN ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG') AND p_size <= 15) THEN -1 ELSE 0;
}

ON +lineitem(l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment) DO {
  q19_count[] += IF l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON' AND (l_quantity >= 1 AND l_quantity <= 11 OR l_quantity >= 10 AND l_quantity <= 20 OR l_quantity >= 20 AND l_quantity <= 30) AND (part AND part_2 AND l_quantity >= 1 AND l_quantity <= 11 AND part_5 OR part_6 AND part_7 AND l_quantity >= 10 AND l_quantity <= 20 AND part_10 OR part_11 AND part_12 AND l_quantity >= 20 AND l_quantity <= 30 AND part_15) THEN m_part_1[part, part_6, part_11, part_12, part_7, part_2, part_10, part_15, part_5, l_partkey] ELSE 0;
  q19_revenue[] += IF l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON' AND (l_quantity >= 1 AND l_quantity <= 11 OR l_quantity >= 10 AND l_quantity <= 20 OR l_quantity >= 20 AND l_quantity <= 30) AND (part AND part_2 AND l_quantity >= 1 AND l_quantity <= 11 AND part_5 OR part_6 AND part_7 AND l_quantity >= 10 AND l_quantity <= 20 AND part_10 OR part_11 AND part_12 AND l_quantity >= 20 AND l_quantity <= 30 AND part_15) THEN (l_extendedprice * (1 - l_discount)) * m_part_1[part, part_6, part_11, part_12, part_7, part_2, part_10, part_15, part_5, l_partkey] ELSE 0;
  m_lineitem_1[l_quantity >= 1, l_quantity >= 10, l_quantity >= 20, l_quantity <= 11, l_quantity <= 20, l_quantity <= 30, l_partkey] += IF l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON' AND (l_quantity >= 1 AND l_quantity <= 11 OR l_quantity >= 10 AND l_quantity <= 20 OR l_quantity >= 20 AND l_quantity <= 30) THEN 1 ELSE 0;
  m_lineitem_2[l_quantity >= 1, l_quantity >= 10, l_quantity >= 20, l_quantity <= 11, l_quantity <= 20, l_quantity <= 30, l_partkey] += IF l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON' AND (l_quantity >= 1 AND l_quantity <= 11 OR l_quantity >= 10 AND l_quantity <= 20 OR l_quantity >= 20 AND l_quantity <= 30) THEN (l_extendedprice * (1 - l_discount)) ELSE 0;
}

ON -lineitem(l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment) DO {
  q19_count[] += IF l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON' AND (l_quantity >= 1 AND l_quantity <= 11 OR l_quantity >= 10 AND l_quantity <= 20 OR l_quantity >= 20 AND l_quantity <= 30) AND (part AND part_2 AND l_quantity >= 1 AND l_quantity <= 11 AND part_5 OR part_6 AND part_7 AND l_quantity >= 10 AND l_quantity <= 20 AND part_10 OR part_11 AND part_12 AND l_quantity >= 20 AND l_quantity <= 30 AND part_15) THEN -1 * m_part_1[part, part_6, part_11, part_12, part_7, part_2, part_10, part_15, part_5, l_partkey] ELSE 0;
  q19_revenue[] += IF l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON' AND (l_quantity >= 1 AND l_quantity <= 11 OR l_quantity >= 10 AND l_quantity <= 20 OR l_quantity >= 20 AND l_quantity <= 30) AND (part AND part_2 AND l_quantity >= 1 AND l_quantity <= 11 AND part_5 OR part_6 AND part_7 AND l_quantity >= 10 AND l_quantity <= 20 AND part_10 OR part_11 AND part_12 AND l_quantity >= 20 AND l_quantity <= 30 AND part_15) THEN -1 * (l_extendedprice * (1 - l_discount)) * m_part_1[part, part_6, part_11, part_12, part_7, part_2, part_10, part_15, part_5, l_partkey] ELSE 0;
  m_lineitem_1[l_quantity >= 1, l_quantity >= 10, l_quantity >= 20, l_quantity <= 11, l_quantity <= 20, l_quantity <= 30, l_partkey] += IF l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON' AND (l_quantity >= 1 AND l_quantity <= 11 OR l_quantity >= 10 AND l_quantity <= 20 OR l_quantity >= 20 AND l_quantity <= 30) THEN -1 ELSE 0;
  m_lineitem_2[l_quantity >= 1, l_quantity >= 10, l_quantity >= 20, l_quantity <= 11, l_quantity <= 20, l_quantity <= 30, l_partkey] += IF l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON' AND (l_quantity >= 1 AND l_quantity <= 11 OR l_quantity >= 10 AND l_quantity <= 20 OR l_quantity >= 20 AND l_quantity <= 30) THEN -1 * (l_extendedprice * (1 - l_discount)) ELSE 0;
}
