PROGRAM q16 SEMANTICS SNAPSHOT;

RELATION region(r_regionkey INT, r_name STRING, r_comment STRING) KEY (r_regionkey);
RELATION nation(n_nationkey INT, n_name STRING, n_regionkey INT, n_comment STRING) KEY (n_nationkey);
RELATION supplier(s_suppkey INT, s_name STRING, s_address STRING, s_nationkey INT, s_phone STRING, s_acctbal DECIMAL(15, 2), s_comment STRING) KEY (s_suppkey);
RELATION customer(c_custkey INT, c_name STRING, c_address STRING, c_nationkey INT, c_phone STRING, c_acctbal DECIMAL(15, 2), c_mktsegment STRING, c_comment STRING) KEY (c_custkey);
RELATION part(p_partkey INT, p_name STRING, p_mfgr STRING, p_brand STRING, p_type STRING, p_size INT, p_container STRING, p_retailprice DECIMAL(15, 2), p_comment STRING) KEY (p_partkey);
RELATION partsupp(ps_partkey INT, ps_suppkey INT, ps_availqty INT, ps_supplycost DECIMAL(15, 2), ps_comment STRING) KEY (ps_partkey, ps_suppkey);
RELATION orders(o_orderkey INT, o_custkey INT, o_orderstatus STRING, o_totalprice DECIMAL(15, 2), o_orderdate DATE, o_orderpriority STRING, o_clerk STRING, o_shippriority INT, o_comment STRING) KEY (o_orderkey);
RELATION lineitem(l_orderkey INT, l_partkey INT, l_suppkey INT, l_linenumber INT, l_quantity DECIMAL(15, 2), l_extendedprice DECIMAL(15, 2), l_discount DECIMAL(15, 2), l_tax DECIMAL(15, 2), l_returnflag STRING, l_linestatus STRING, l_shipdate DATE, l_commitdate DATE, l_receiptdate DATE, l_shipinstruct STRING, l_shipmode STRING, l_comment STRING) KEY (l_orderkey, l_linenumber);

MAP q16_in_n[s_suppkey INT] : INT
  MEANING 'SELECT supplier.s_suppkey, COUNT(*) FROM supplier WHERE supplier.s_comment LIKE ''%Customer%Complaints%'' GROUP BY supplier.s_suppkey';
MAP q16_distinct_n[p_brand STRING, p_type STRING, p_size INT, value0 INT] : INT
  MEANING 'SELECT part.p_brand, part.p_type, part.p_size, partsupp.ps_suppkey, COUNT(*) FROM partsupp, part WHERE partsupp.ps_partkey = part.p_partkey AND part.p_brand <> ''Brand#45'' AND NOT part.p_type LIKE ''MEDIUM POLISHED%'' AND part.p_size IN (49, 14, 23, 45, 19, 3, 36, 9) GROUP BY part.p_brand, part.p_type, part.p_size, partsupp.ps_suppkey UNION ALL SELECT part.p_brand, part.p_type, part.p_size, partsupp.ps_suppkey, SUM(-1) FROM partsupp, part, q16_in WHERE partsupp.ps_partkey = part.p_partkey AND partsupp.ps_suppkey = q16_in.s_suppkey AND part.p_brand <> ''Brand#45'' AND NOT part.p_type LIKE ''MEDIUM POLISHED%'' AND part.p_size IN (49, 14, 23, 45, 19, 3, 36, 9) GROUP BY part.p_brand, part.p_type, part.p_size, partsupp.ps_suppkey';
MAP q16_count[p_brand STRING, p_type STRING, p_size INT] : INT
  MEANING 'SELECT part.p_brand, part.p_type, part.p_size, COUNT(*) FROM partsupp, part WHERE partsupp.ps_partkey = part.p_partkey AND part.p_brand <> ''Brand#45'' AND NOT part.p_type LIKE ''MEDIUM POLISHED%'' AND part.p_size IN (49, 14, 23, 45, 19, 3, 36, 9) GROUP BY part.p_brand, part.p_type, part.p_size UNION ALL SELECT part.p_brand, part.p_type, part.p_size, SUM(-1) FROM partsupp, part, q16_in WHERE partsupp.ps_partkey = part.p_partkey AND partsupp.ps_suppkey = q16_in.s_suppkey AND part.p_brand <> ''Brand#45'' AND NOT part.p_type LIKE ''MEDIUM POLISHED%'' AND part.p_size IN (49, 14, 23, 45, 19, 3, 36, 9) GROUP BY part.p_brand, part.p_type, part.p_size';
MAP q16_supplier_cnt[p_brand STRING, p_type STRING, p_size INT] : INT
  MEANING 'SELECT q16_distinct.p_brand, q16_distinct.p_type, q16_distinct.p_size, COUNT(*) FROM q16_distinct GROUP BY q16_distinct.p_brand, q16_distinct.p_type, q16_distinct.p_size';
MAP m_part_1[p_brand STRING, p_partkey INT, p_size INT, p_type STRING] : INT
  MEANING 'SELECT part.p_brand, part.p_partkey, part.p_size, part.p_type, COUNT(*) FROM part WHERE part.p_brand <> ''Brand#45'' AND NOT part.p_type LIKE ''MEDIUM POLISHED%'' AND part.p_size IN (49, 14, 23, 45, 19, 3, 36, 9) GROUP BY part.p_brand, part.p_partkey, part.p_size, part.p_type';
MAP m_partsupp_1[p_partkey INT, value0 INT] : INT
  MEANING 'SELECT partsupp.ps_partkey, partsupp.ps_suppkey, COUNT(*) FROM partsupp GROUP BY partsupp.ps_partkey, partsupp.ps_suppkey';
MAP m_partsupp_q16_in_1[p_partkey INT, value0 INT] : INT
  MEANING 'SELECT partsupp.ps_partkey, partsupp.ps_suppkey, COUNT(*) FROM partsupp, q16_in WHERE partsupp.ps_suppkey = q16_in.s_suppkey GROUP BY partsupp.ps_partkey, partsupp.ps_suppkey';
MAP m_part_partsupp_1[p_brand STRING, p_size INT, p_type STRING, value0 INT] : INT
  MEANING 'SELECT part.p_brand, part.p_size, part.p_type, partsupp.ps_suppkey, COUNT(*) FROM partsupp, part WHERE partsupp.ps_partkey = part.p_partkey AND part.p_brand <> ''Brand#45'' AND NOT part.p_type LIKE ''MEDIUM POLISHED%'' AND part.p_size IN (49, 14, 23, 45, 19, 3, 36, 9) GROUP BY part.p_brand, part.p_size, part.p_type, partsupp.ps_suppkey';
MAP m_partsupp_2[p_partkey INT] : INT
  MEANING 'SELECT partsupp.ps_partkey, COUNT(*) FROM partsupp GROUP BY partsupp.ps_partkey';
MAP m_partsupp_q16_in_2[p_partkey INT] : INT
  MEANING 'SELECT partsupp.ps_partkey, COUNT(*) FROM partsupp, q16_in WHERE partsupp.ps_suppkey = q16_in.s_suppkey GROUP BY partsupp.ps_partkey';
MAP q16_in[s_suppkey INT] : INT
  MEANING 'one row per (s_suppkey)';
MAP q16_distinct[p_brand STRING, p_type STRING, p_size INT, value0 INT] : INT
  MEANING 'one row per (p_brand, p_type, p_size, value0)';

DERIVE q16_in[s_suppkey]
  FROM n = q16_in_n
  COUNT CASE WHEN n > 0 THEN 1 ELSE 0 END;
DERIVE q16_distinct[p_brand, p_type, p_size, value0]
  FROM n = q16_distinct_n
  COUNT CASE WHEN n > 0 THEN 1 ELSE 0 END;

VIEW q16[p_brand STRING, p_type STRING, p_size INT]
  VALUES supplier_cnt = q16_supplier_cnt
  EXISTS q16_count
  COLUMNS p_brand = p_brand,
    p_type = p_type,
    p_size = p_size,
    supplier_cnt = supplier_cnt
  ORDER BY 4 DESC, 1, 2, 3
  SQL '-- TPC-H Q16, parts/supplier relationship; validation parameters BRAND = Brand#45, TYPE = MEDIUM POLISHED,
-- SIZE1 to SIZE8 = 49, 14, 23, 45, 19, 3, 36, 9.
select
    p_brand,
    p_type,
    p_size,
    count(distinct ps_suppkey) as supplier_cnt
from
    partsupp,
    part
where
    p_partkey = ps_partkey
    and p_brand <> ''Brand#45''
    and p_type not like ''MEDIUM POLISHED%''
    and p_size in (49, 14, 23, 45, 19, 3, 36, 9)
    and ps_suppkey not in (
        select
            s_suppkey
        from
            supplier
        where
            s_comment like ''%Customer%Complaints%''
    )
group by
    p_brand,
    p_type,
    p_size
order by
    supplier_cnt desc,
    p_brand,
    p_type,
    p_size
';

ON +supplier(s_suppkey, s_name, s_address, s_nationkey, s_phone, s_acctbal, s_comment) DO {
  q16_in_n[s_suppkey] += IF s_comment LIKE '%Customer%Complaints%' THEN 1 ELSE 0;
}

ON -supplier(s_suppkey, s_name, s_address, s_nationkey, s_phone, s_acctbal, s_comment) DO {
  q16_in_n[s_suppkey] += IF s_comment LIKE '%Customer%Complaints%' THEN -1 ELSE 0;
}

ON +part(p_partkey, p_name, p_mfgr, p_brand, p_type, p_size, p_container, p_retailprice, p_comment) DO {
  q16_distinct_n[p_brand, p_type, p_size, value0] += IF p_brand <> 'Brand#45' AND NOT p_type LIKE 'MEDIUM POLISHED%' AND p_size IN (49, 14, 23, 45, 19, 3, 36, 9) THEN m_partsupp_1[p_partkey, value0] ELSE 0;
  q16_distinct_n[p_brand, p_type, p_size, value0] += IF p_brand <> 'Brand#45' AND NOT p_type LIKE 'MEDIUM POLISHED%' AND p_size IN (49, 14, 23, 45, 19, 3, 36, 9) THEN -1 * m_partsupp_q16_in_1[p_partkey, value0] ELSE 0;
  q16_count[p_brand, p_type, p_size] += IF p_brand <> 'Brand#45' AND NOT p_type LIKE 'MEDIUM POLISHED%' AND p_size IN (49, 14, 23, 45, 19, 3, 36, 9) THEN m_partsupp_2[p_partkey] ELSE 0;
  q16_count[p_brand, p_type, p_size] += IF p_brand <> 'Brand#45' AND NOT p_type LIKE 'MEDIUM POLISHED%' AND p_size IN (49, 14, 23, 45, 19, 3, 36, 9) THEN -1 * m_partsupp_q16_in_2[p_partkey] ELSE 0;
  m_part_partsupp_1[p_brand, p_size, p_type, value0] += IF p_brand <> 'Brand#45' AND NOT p_type LIKE 'MEDIUM POLISHED%' AND p_size IN (49, 14, 23, 45, 19, 3, 36, 9) THEN m_partsupp_1[p_partkey, value0] ELSE 0;
  m_part_1[p_brand, p_partkey, p_size, p_type] += IF p_brand <> 'Brand#45' AND NOT p_type LIKE 'MEDIUM POLISHED%' AND p_size IN (49, 14, 23, 45, 19, 3, 36, 9) THEN 1 ELSE 0;
}

ON -part(p_partkey, p_name, p_mfgr, p_brand, p_type, p_size, p_container, p_retailprice, p_comment) DO {
  q16_distinct_n[p_brand, p_type, p_size, value0] += IF p_brand <> 'Brand#45' AND NOT p_type LIKE 'MEDIUM POLISHED%' AND p_size IN (49, 14, 23, 45, 19, 3, 36, 9) THEN -1 * m_partsupp_1[p_partkey, value0] ELSE 0;
  q16_distinct_n[p_brand, p_type, p_size, value0] += IF p_brand <> 'Brand#45' AND NOT p_type LIKE 'MEDIUM POLISHED%' AND p_size IN (49, 14, 23, 45, 19, 3, 36, 9) THEN m_partsupp_q16_in_1[p_partkey, value0] ELSE 0;
  q16_count[p_brand, p_type, p_size] += IF p_brand <> 'Brand#45' AND NOT p_type LIKE 'MEDIUM POLISHED%' AND p_size IN (49, 14, 23, 45, 19, 3, 36, 9) THEN -1 * m_partsupp_2[p_partkey] ELSE 0;
  q16_count[p_brand, p_type, p_size] += IF p_brand <> 'Brand#45' AND NOT p_type LIKE 'MEDIUM POLISHED%' AND p_size IN (49, 14, 23, 45, 19, 3, 36, 9) THEN m_partsupp_q16_in_2[p_partkey] ELSE 0;
  m_part_partsupp_1[p_brand, p_size, p_type, value0] += IF p_brand <> 'Brand#45' AND NOT p_type LIKE 'MEDIUM POLISHED%' AND p_size IN (49, 14, 23, 45, 19, 3, 36, 9) THEN -1 * m_partsupp_1[p_partkey, value0] ELSE 0;
  m_part_1[p_brand, p_partkey, p_size, p_type] += IF p_brand <> 'Brand#45' AND NOT p_type LIKE 'MEDIUM POLISHED%' AND p_size IN (49, 14, 23, 45, 19, 3, 36, 9) THEN -1 ELSE 0;
}

ON +partsupp(ps_partkey, ps_suppkey, ps_availqty, ps_supplycost, ps_comment) DO {
  q16_distinct_n[p_brand, p_type, p_size, ps_suppkey] += m_part_1[p_brand, ps_partkey, p_size, p_type];
  q16_distinct_n[p_brand, p_type, p_size, ps_suppkey] += -1 * q16_in[ps_suppkey] * m_part_1[p_brand, ps_partkey, p_size, p_type];
  q16_count[p_brand, p_type, p_size] += m_part_1[p_brand, ps_partkey, p_size, p_type];
  q16_count[p_brand, p_type, p_size] += -1 * q16_in[ps_suppkey] * m_part_1[p_brand, ps_partkey, p_size, p_type];
  m_partsupp_q16_in_1[ps_partkey, ps_suppkey] += q16_in[ps_suppkey];
  m_part_partsupp_1[p_brand, p_size, p_type, ps_suppkey] += m_part_1[p_brand, ps_partkey, p_size, p_type];
  m_partsupp_q16_in_2[ps_partkey] += q16_in[ps_suppkey];
  m_partsupp_1[ps_partkey, ps_suppkey] += 1;
  m_partsupp_2[ps_partkey] += 1;
}

ON -partsupp(ps_partkey, ps_suppkey, ps_availqty, ps_supplycost, ps_comment) DO {
  q16_distinct_n[p_brand, p_type, p_size, ps_suppkey] += -1 * m_part_1[p_brand, ps_partkey, p_size, p_type];
  q16_distinct_n[p_brand, p_type, p_size, ps_suppkey] += q16_in[ps_suppkey] * m_part_1[p_brand, ps_partkey, p_size, p_type];
  q16_count[p_brand, p_type, p_size] += -1 * m_part_1[p_brand, ps_partkey, p_size, p_type];
  q16_count[p_brand, p_type, p_size] += q16_in[ps_suppkey] * m_part_1[p_brand, ps_partkey, p_size, p_type];
  m_partsupp_q16_in_1[ps_partkey, ps_suppkey] += -1 * q16_in[ps_suppkey];
  m_part_partsupp_1[p_brand, p_size, p_type, ps_suppkey] += -1 * m_part_1[p_brand, ps_partkey, p_size, p_type];
  m_partsupp_q16_in_2[ps_partkey] += -1 * q16_in[ps_suppkey];
  m_partsupp_1[ps_partkey, ps_suppkey] += -1;
  m_partsupp_2[ps_partkey] += -1;
}

ON CHANGE q16_in(s_suppkey) DO {
  q16_distinct_n[p_brand, p_type, p_size, s_suppkey] += -1 * m_part_partsupp_1[p_brand, p_size, p_type, s_suppkey];
  q16_count[p_brand, p_type, p_size] += -1 * m_part_partsupp_1[p_brand, p_size, p_type, s_suppkey];
  m_partsupp_q16_in_1[p_partkey, s_suppkey] += m_partsupp_1[p_partkey, s_suppkey];
  m_partsupp_q16_in_2[p_partkey] += m_partsupp_1[p_partkey, s_suppkey];
}

ON CHANGE q16_distinct(p_brand, p_type, p_size, value0) DO {
  q16_supplier_cnt[p_brand, p_type, p_size] += 1;
}
