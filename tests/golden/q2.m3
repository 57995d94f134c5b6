PROGRAM q2 SEMANTICS SNAPSHOT;

RELATION region(r_regionkey INT, r_name STRING, r_comment STRING) KEY (r_regionkey);
RELATION nation(n_nationkey INT, n_name STRING, n_regionkey INT, n_comment STRING) KEY (n_nationkey);
RELATION supplier(s_suppkey INT, s_name STRING, s_address STRING, s_nationkey INT, s_phone STRING, s_acctbal DECIMAL(15, 2), s_comment STRING) KEY (s_suppkey);
RELATION customer(c_custkey INT, c_name STRING, c_address STRING, c_nationkey INT, c_phone STRING, c_acctbal DECIMAL(15, 2), c_mktsegment STRING, c_comment STRING) KEY (c_custkey);
RELATION part(p_partkey INT, p_name STRING, p_mfgr STRING, p_brand STRING, p_type STRING, p_size INT, p_container STRING, p_retailprice DECIMAL(15, 2), p_comment STRING) KEY (p_partkey);
RELATION partsupp(ps_partkey INT, ps_suppkey INT, ps_availqty INT, ps_supplycost DECIMAL(15, 2), ps_comment STRING) KEY (ps_partkey, ps_suppkey);
RELATION orders(o_orderkey INT, o_custkey INT, o_orderstatus STRING, o_totalprice DECIMAL(15, 2), o_orderdate DATE, o_orderpriority STRING, o_clerk STRING, o_shippriority INT, o_comment STRING) KEY (o_orderkey);
RELATION lineitem(l_orderkey INT, l_partkey INT, l_suppkey INT, l_linenumber INT, l_quantity DECIMAL(15, 2), l_extendedprice DECIMAL(15, 2), l_discount DECIMAL(15, 2), l_tax DECIMAL(15, 2), l_returnflag STRING, l_linestatus STRING, l_shipdate DATE, l_commitdate DATE, l_receiptdate DATE, l_shipinstruct STRING, l_shipmode STRING, l_comment STRING) KEY (l_orderkey, l_linenumber);

MAP q2_groups_count[ps_partkey INT] : INT
  MEANING 'SELECT partsupp.ps_partkey, COUNT(*) FROM partsupp, supplier, nation, region WHERE partsupp.ps_suppkey = supplier.s_suppkey AND supplier.s_nationkey = nation.n_nationkey AND nation.n_regionkey = region.r_regionkey AND region.r_name = ''EUROPE'' GROUP BY partsupp.ps_partkey';
MAP q2_groups_min[ps_partkey INT, value0 DECIMAL(15, 2)] : INT
  MEANING 'SELECT partsupp.ps_partkey, partsupp.ps_supplycost, COUNT(*) FROM partsupp, supplier, nation, region WHERE partsupp.ps_suppkey = supplier.s_suppkey AND supplier.s_nationkey = nation.n_nationkey AND nation.n_regionkey = region.r_regionkey AND region.r_name = ''EUROPE'' GROUP BY partsupp.ps_partkey, partsupp.ps_supplycost';
MAP q2_rows[s_acctbal DECIMAL(15, 2), s_name STRING, n_name STRING, p_partkey INT, p_mfgr STRING, s_address STRING, s_phone STRING, s_comment STRING] : INT
  MEANING 'SELECT supplier.s_acctbal, supplier.s_name, nation.n_name, part.p_partkey, part.p_mfgr, supplier.s_address, supplier.s_phone, supplier.s_comment, COUNT(*) FROM part, supplier, partsupp, nation, region, q2_groups WHERE part.p_partkey = partsupp.ps_partkey AND part.p_partkey = q2_groups.ps_partkey AND supplier.s_suppkey = partsupp.ps_suppkey AND supplier.s_nationkey = nation.n_nationkey AND partsupp.ps_supplycost = q2_groups.min_2 AND nation.n_regionkey = region.r_regionkey AND part.p_size = 15 AND part.p_type LIKE ''%BRASS'' AND region.r_name = ''EUROPE'' AND NOT q2_groups.min_2 IS NULL GROUP BY supplier.s_acctbal, supplier.s_name, nation.n_name, part.p_partkey, part.p_mfgr, supplier.s_address, supplier.s_phone, supplier.s_comment';
MAP m_supplier_1[s_nationkey INT, s_suppkey INT] : INT
  MEANING 'SELECT supplier.s_nationkey, supplier.s_suppkey, COUNT(*) FROM supplier GROUP BY supplier.s_nationkey, supplier.s_suppkey';
MAP m_nation_1[s_nationkey INT, n_regionkey INT] : INT
  MEANING 'SELECT nation.n_nationkey, nation.n_regionkey, COUNT(*) FROM nation GROUP BY nation.n_nationkey, nation.n_regionkey';
MAP m_region_1[n_regionkey INT] : INT
  MEANING 'SELECT region.r_regionkey, COUNT(*) FROM region WHERE region.r_name = ''EUROPE'' GROUP BY region.r_regionkey';
MAP m_partsupp_1[ps_partkey INT, s_suppkey INT] : INT
  MEANING 'SELECT partsupp.ps_partkey, partsupp.ps_suppkey, COUNT(*) FROM partsupp GROUP BY partsupp.ps_partkey, partsupp.ps_suppkey';
MAP m_partsupp_supplier_1[ps_partkey INT, s_nationkey INT] : INT
  MEANING 'SELECT partsupp.ps_partkey, supplier.s_nationkey, COUNT(*) FROM partsupp, supplier WHERE partsupp.ps_suppkey = supplier.s_suppkey GROUP BY partsupp.ps_partkey, supplier.s_nationkey';
MAP m_nation_partsupp_supplier_1[n_regionkey INT, ps_partkey INT] : INT
  MEANING 'SELECT nation.n_regionkey, partsupp.ps_partkey, COUNT(*) FROM partsupp, supplier, nation WHERE partsupp.ps_suppkey = supplier.s_suppkey AND supplier.s_nationkey = nation.n_nationkey GROUP BY nation.n_regionkey, partsupp.ps_partkey';
MAP m_partsupp_2[ps_partkey INT, s_suppkey INT, value0 DECIMAL(15, 2)] : INT
  MEANING 'SELECT partsupp.ps_partkey, partsupp.ps_suppkey, partsupp.ps_supplycost, COUNT(*) FROM partsupp GROUP BY partsupp.ps_partkey, partsupp.ps_suppkey, partsupp.ps_supplycost';
MAP m_partsupp_supplier_2[ps_partkey INT, value0 DECIMAL(15, 2), s_nationkey INT] : INT
  MEANING 'SELECT partsupp.ps_partkey, partsupp.ps_supplycost, supplier.s_nationkey, COUNT(*) FROM partsupp, supplier WHERE partsupp.ps_suppkey = supplier.s_suppkey GROUP BY partsupp.ps_partkey, partsupp.ps_supplycost, supplier.s_nationkey';
MAP m_nation_partsupp_supplier_2[n_regionkey INT, ps_partkey INT, value0 DECIMAL(15, 2)] : INT
  MEANING 'SELECT nation.n_regionkey, partsupp.ps_partkey, partsupp.ps_supplycost, COUNT(*) FROM partsupp, supplier, nation WHERE partsupp.ps_suppkey = supplier.s_suppkey AND supplier.s_nationkey = nation.n_nationkey GROUP BY nation.n_regionkey, partsupp.ps_partkey, partsupp.ps_supplycost';
MAP m_nation_partsupp_q2_groups_region_supplier_1[n_name STRING, p_partkey INT, s_acctbal DECIMAL(15, 2), s_address STRING, s_comment STRING, s_name STRING, s_phone STRING] : INT
  MEANING 'SELECT nation.n_name, partsupp.ps_partkey, supplier.s_acctbal, supplier.s_address, supplier.s_comment, supplier.s_name, supplier.s_phone, COUNT(*) FROM supplier, partsupp, nation, region, q2_groups WHERE supplier.s_suppkey = partsupp.ps_suppkey AND supplier.s_nationkey = nation.n_nationkey AND partsupp.ps_partkey = q2_groups.ps_partkey AND partsupp.ps_supplycost = q2_groups.min_2 AND nation.n_regionkey = region.r_regionkey AND region.r_name = ''EUROPE'' AND NOT q2_groups.min_2 IS NULL GROUP BY nation.n_name, partsupp.ps_partkey, supplier.s_acctbal, supplier.s_address, supplier.s_comment, supplier.s_name, supplier.s_phone';
MAP m_part_partsupp_q2_groups_1[p_mfgr STRING, p_partkey INT, s_suppkey INT] : INT
  MEANING 'SELECT part.p_mfgr, part.p_partkey, partsupp.ps_suppkey, COUNT(*) FROM part, partsupp, q2_groups WHERE part.p_partkey = partsupp.ps_partkey AND part.p_partkey = q2_groups.ps_partkey AND partsupp.ps_supplycost = q2_groups.min_2 AND part.p_size = 15 AND part.p_type LIKE ''%BRASS'' AND NOT q2_groups.min_2 IS NULL GROUP BY part.p_mfgr, part.p_partkey, partsupp.ps_suppkey';
MAP m_nation_2[n_name STRING, s_nationkey INT, n_regionkey INT] : INT
  MEANING 'SELECT nation.n_name, nation.n_nationkey, nation.n_regionkey, COUNT(*) FROM nation GROUP BY nation.n_name, nation.n_nationkey, nation.n_regionkey';
MAP m_part_1[p_mfgr STRING, p_partkey INT] : INT
  MEANING 'SELECT part.p_mfgr, part.p_partkey, COUNT(*) FROM part WHERE part.p_size = 15 AND part.p_type LIKE ''%BRASS'' GROUP BY part.p_mfgr, part.p_partkey';
MAP m_supplier_2[s_acctbal DECIMAL(15, 2), s_address STRING, s_comment STRING, s_name STRING, s_nationkey INT, s_phone STRING, s_suppkey INT] : INT
  MEANING 'SELECT supplier.s_acctbal, supplier.s_address, supplier.s_comment, supplier.s_name, supplier.s_nationkey, supplier.s_phone, supplier.s_suppkey, COUNT(*) FROM supplier GROUP BY supplier.s_acctbal, supplier.s_address, supplier.s_comment, supplier.s_name, supplier.s_nationkey, supplier.s_phone, supplier.s_suppkey';
MAP m_q2_groups_1[ps_supplycost DECIMAL(15, 2), p_partkey INT] : INT
  MEANING 'SELECT q2_groups.min_2, q2_groups.ps_partkey, COUNT(*) FROM q2_groups WHERE NOT q2_groups.min_2 IS NULL GROUP BY q2_groups.min_2, q2_groups.ps_partkey';
MAP m_part_partsupp_q2_groups_supplier_1[p_mfgr STRING, p_partkey INT, s_acctbal DECIMAL(15, 2), s_address STRING, s_comment STRING, s_name STRING, s_nationkey INT, s_phone STRING] : INT
  MEANING 'SELECT part.p_mfgr, part.p_partkey, supplier.s_acctbal, supplier.s_address, supplier.s_comment, supplier.s_name, supplier.s_nationkey, supplier.s_phone, COUNT(*) FROM part, supplier, partsupp, q2_groups WHERE part.p_partkey = partsupp.ps_partkey AND part.p_partkey = q2_groups.ps_partkey AND supplier.s_suppkey = partsupp.ps_suppkey AND partsupp.ps_supplycost = q2_groups.min_2 AND part.p_size = 15 AND part.p_type LIKE ''%BRASS'' AND NOT q2_groups.min_2 IS NULL GROUP BY part.p_mfgr, part.p_partkey, supplier.s_acctbal, supplier.s_address, supplier.s_comment, supplier.s_name, supplier.s_nationkey, supplier.s_phone';
MAP m_nation_part_partsupp_q2_groups_supplier_1[n_name STRING, n_regionkey INT, p_mfgr STRING, p_partkey INT, s_acctbal DECIMAL(15, 2), s_address STRING, s_comment STRING, s_name STRING, s_phone STRING] : INT
  MEANING 'SELECT nation.n_name, nation.n_regionkey, part.p_mfgr, part.p_partkey, supplier.s_acctbal, supplier.s_address, supplier.s_comment, supplier.s_name, supplier.s_phone, COUNT(*) FROM part, supplier, partsupp, nation, q2_groups WHERE part.p_partkey = partsupp.ps_partkey AND part.p_partkey = q2_groups.ps_partkey AND supplier.s_suppkey = partsupp.ps_suppkey AND supplier.s_nationkey = nation.n_nationkey AND partsupp.ps_supplycost = q2_groups.min_2 AND part.p_size = 15 AND part.p_type LIKE ''%BRASS'' AND NOT q2_groups.min_2 IS NULL GROUP BY nation.n_name, nation.n_regionkey, part.p_mfgr, part.p_partkey, supplier.s_acctbal, supplier.s_address, supplier.s_comment, supplier.s_name, supplier.s_phone';
MAP m_nation_partsupp_region_supplier_1[n_name STRING, p_partkey INT, ps_supplycost DECIMAL(15, 2), s_acctbal DECIMAL(15, 2), s_address STRING, s_comment STRING, s_name STRING, s_phone STRING] : INT
  MEANING 'SELECT nation.n_name, partsupp.ps_partkey, partsupp.ps_supplycost, supplier.s_acctbal, supplier.s_address, supplier.s_comment, supplier.s_name, supplier.s_phone, COUNT(*) FROM supplier, partsupp, nation, region WHERE supplier.s_suppkey = partsupp.ps_suppkey AND supplier.s_nationkey = nation.n_nationkey AND nation.n_regionkey = region.r_regionkey AND region.r_name = ''EUROPE'' GROUP BY nation.n_name, partsupp.ps_partkey, partsupp.ps_supplycost, supplier.s_acctbal, supplier.s_address, supplier.s_comment, supplier.s_name, supplier.s_phone';
MAP m_partsupp_q2_groups_1[p_partkey INT, s_suppkey INT] : INT
  MEANING 'SELECT partsupp.ps_partkey, partsupp.ps_suppkey, COUNT(*) FROM partsupp, q2_groups WHERE partsupp.ps_partkey = q2_groups.ps_partkey AND partsupp.ps_supplycost = q2_groups.min_2 AND NOT q2_groups.min_2 IS NULL GROUP BY partsupp.ps_partkey, partsupp.ps_suppkey';
MAP m_partsupp_q2_groups_supplier_1[p_partkey INT, s_acctbal DECIMAL(15, 2), s_address STRING, s_comment STRING, s_name STRING, s_nationkey INT, s_phone STRING] : INT
  MEANING 'SELECT partsupp.ps_partkey, supplier.s_acctbal, supplier.s_address, supplier.s_comment, supplier.s_name, supplier.s_nationkey, supplier.s_phone, COUNT(*) FROM supplier, partsupp, q2_groups WHERE supplier.s_suppkey = partsupp.ps_suppkey AND partsupp.ps_partkey = q2_groups.ps_partkey AND partsupp.ps_supplycost = q2_groups.min_2 AND NOT q2_groups.min_2 IS NULL GROUP BY partsupp.ps_partkey, supplier.s_acctbal, supplier.s_address, supplier.s_comment, supplier.s_name, supplier.s_nationkey, supplier.s_phone';
MAP m_nation_partsupp_q2_groups_supplier_1[n_name STRING, n_regionkey INT, p_partkey INT, s_acctbal DECIMAL(15, 2), s_address STRING, s_comment STRING, s_name STRING, s_phone STRING] : INT
  MEANING 'SELECT nation.n_name, nation.n_regionkey, partsupp.ps_partkey, supplier.s_acctbal, supplier.s_address, supplier.s_comment, supplier.s_name, supplier.s_phone, COUNT(*) FROM supplier, partsupp, nation, q2_groups WHERE supplier.s_suppkey = partsupp.ps_suppkey AND supplier.s_nationkey = nation.n_nationkey AND partsupp.ps_partkey = q2_groups.ps_partkey AND partsupp.ps_supplycost = q2_groups.min_2 AND NOT q2_groups.min_2 IS NULL GROUP BY nation.n_name, nation.n_regionkey, partsupp.ps_partkey, supplier.s_acctbal, supplier.s_address, supplier.s_comment, supplier.s_name, supplier.s_phone';
MAP m_partsupp_supplier_3[p_partkey INT, ps_supplycost DECIMAL(15, 2), s_acctbal DECIMAL(15, 2), s_address STRING, s_comment STRING, s_name STRING, s_nationkey INT, s_phone STRING] : INT
  MEANING 'SELECT partsupp.ps_partkey, partsupp.ps_supplycost, supplier.s_acctbal, supplier.s_address, supplier.s_comment, supplier.s_name, supplier.s_nationkey, supplier.s_phone, COUNT(*) FROM supplier, partsupp WHERE supplier.s_suppkey = partsupp.ps_suppkey GROUP BY partsupp.ps_partkey, partsupp.ps_supplycost, supplier.s_acctbal, supplier.s_address, supplier.s_comment, supplier.s_name, supplier.s_nationkey, supplier.s_phone';
MAP m_nation_partsupp_supplier_3[n_name STRING, n_regionkey INT, p_partkey INT, ps_supplycost DECIMAL(15, 2), s_acctbal DECIMAL(15, 2), s_address STRING, s_comment STRING, s_name STRING, s_phone STRING] : INT
  MEANING 'SELECT nation.n_name, nation.n_regionkey, partsupp.ps_partkey, partsupp.ps_supplycost, supplier.s_acctbal, supplier.s_address, supplier.s_comment, supplier.s_name, supplier.s_phone, COUNT(*) FROM supplier, partsupp, nation WHERE supplier.s_suppkey = partsupp.ps_suppkey AND supplier.s_nationkey = nation.n_nationkey GROUP BY nation.n_name, nation.n_regionkey, partsupp.ps_partkey, partsupp.ps_supplycost, supplier.s_acctbal, supplier.s_address, supplier.s_comment, supplier.s_name, supplier.s_phone';
MAP q2_groups[ps_partkey INT, min_2 DECIMAL(15, 2) NULL] : INT
  MEANING 'one row per (ps_partkey)';

DERIVE q2_groups[ps_partkey]
  FROM count = q2_groups_count, min = MIN(q2_groups_min)
  SELECT min_2 = min
  COUNT CASE WHEN count > 0 THEN 1 ELSE 0 END;

VIEW q2[s_acctbal DECIMAL(15, 2), s_name STRING, n_name STRING, p_partkey INT, p_mfgr STRING, s_address STRING, s_phone STRING, s_comment STRING]
  ROWS q2_rows
  COLUMNS s_acctbal = s_acctbal,
    s_name = s_name,
    n_name = n_name,
    p_partkey = p_partkey,
    p_mfgr = p_mfgr,
    s_address = s_address,
    s_phone = s_phone,
    s_comment = s_comment
  ORDER BY 1 DESC, 3, 2, 4
  LIMIT 100
  SQL '-- TPC-H Q2, minimum cost supplier; validation parameters SIZE = 15, TYPE = BRASS, REGION = EUROPE.
select
    s_acctbal,
    s_name,
    n_name,
    p_partkey,
    p_mfgr,
    s_address,
    s_phone,
    s_comment
from
    part,
    supplier,
    partsupp,
    nation,
    region
where
    p_partkey = ps_partkey
    and s_suppkey = ps_suppkey
    and p_size = 15
    and p_type like ''%BRASS''
    and s_nationkey = n_nationkey
    and n_regionkey = r_regionkey
    and r_name = ''EUROPE''
    and ps_supplycost = (
        select
            min(ps_supplycost)
        from
            partsupp,
            supplier,
            nation,
            region
        where
            p_partkey = ps_partkey
            and s_suppkey = ps_suppkey
            and s_nationkey = n_nationkey
            and n_regionkey = r_regionkey
            and r_name = ''EUROPE''
    )
order by
    s_acctbal desc,
    n_name,
    s_name,
    p_partkey
limit 100
';

ON +region(r_regionkey, r_name, r_comment) DO {
  q2_rows[s_acctbal, s_name, n_name, p_partkey, p_mfgr, s_address, s_phone, s_comment] += IF r_name = 'EUROPE' THEN m_nation_part_partsupp_q2_groups_supplier_1[n_name, r_regionkey, p_mfgr, p_partkey, s_acctbal, s_address, s_comment, s_name, s_phone] ELSE 0;
  m_nation_partsupp_q2_groups_region_supplier_1[n_name, p_partkey, s_acctbal, s_address, s_comment, s_name, s_phone] += IF r_name = 'EUROPE' THEN m_nation_partsupp_q2_groups_supplier_1[n_name, r_regionkey, p_partkey, s_acctbal, s_address, s_comment, s_name, s_phone] ELSE 0;
  q2_groups_count[ps_partkey] += IF r_name = 'EUROPE' THEN m_nation_partsupp_supplier_1[r_regionkey, ps_partkey] ELSE 0;
  q2_groups_min[ps_partkey, value0] += IF r_name = 'EUROPE' THEN m_nation_partsupp_supplier_2[r_regionkey, ps_partkey, value0] ELSE 0;
  m_nation_partsupp_region_supplier_1[n_name, p_partkey, ps_supplycost, s_acctbal, s_address, s_comment, s_name, s_phone] += IF r_name = 'EUROPE' THEN m_nation_partsupp_supplier_3[n_name, r_regionkey, p_partkey, ps_supplycost, s_acctbal, s_address, s_comment, s_name, s_phone] ELSE 0;
  m_region_1[r_regionkey] += IF r_name = 'EUROPE' THEN 1 ELSE 0;
}

ON -region(r_regionkey, r_name, r_comment) DO {
  q2_rows[s_acctbal, s_name, n_name, p_partkey, p_mfgr, s_address, s_phone, s_comment] += IF r_name = 'EUROPE' THEN -1 * m_nation_part_partsupp_q2_groups_supplier_1[n_name, r_regionkey, p_mfgr, p_partkey, s_acctbal, s_address, s_comment, s_name, s_phone] ELSE 0;
  m_nation_partsupp_q2_groups_region_supplier_1[n_name, p_partkey, s_acctbal, s_address, s_comment, s_name, s_phone] += IF r_name = 'EUROPE' THEN -1 * m_nation_partsupp_q2_groups_supplier_1[n_name, r_regionkey, p_partkey, s_acctbal, s_address, s_comment, s_name, s_phone] ELSE 0;
  q2_groups_count[ps_partkey] += IF r_name = 'EUROPE' THEN -1 * m_nation_partsupp_supplier_1[r_regionkey, ps_partkey] ELSE 0;
  q2_groups_min[ps_partkey, value0] += IF r_name = 'EUROPE' THEN -1 * m_nation_partsupp_supplier_2[r_regionkey, ps_partkey, value0] ELSE 0;
  m_nation_partsupp_region_supplier_1[n_name, p_partkey, ps_supplycost, s_acctbal, s_address, s_comment, s_name, s_phone] += IF r_name = 'EUROPE' THEN -1 * m_nation_partsupp_supplier_3[n_name, r_regionkey, p_partkey, ps_supplycost, s_acctbal, s_address, s_comment, s_name, s_phone] ELSE 0;
  m_region_1[r_regionkey] += IF r_name = 'EUROPE' THEN -1 ELSE 0;
}

ON +nation(n_nationkey, n_name, n_regionkey, n_comment) DO {
  q2_rows[s_acctbal, s_name, n_name, p_partkey, p_mfgr, s_address, s_phone, s_comment] += m_region_1[n_regionkey] * m_part_partsupp_q2_groups_supplier_1[p_mfgr, p_partkey, s_acctbal, s_address, s_comment, s_name, n_nationkey, s_phone];
  m_nation_partsupp_q2_groups_region_supplier_1[n_name, p_partkey, s_acctbal, s_address, s_comment, s_name, s_phone] += m_region_1[n_regionkey] * m_partsupp_q2_groups_supplier_1[p_partkey, s_acctbal, s_address, s_comment, s_name, n_nationkey, s_phone];
  m_nation_part_partsupp_q2_groups_supplier_1[n_name, n_regionkey, p_mfgr, p_partkey, s_acctbal, s_address, s_comment, s_name, s_phone] += m_part_partsupp_q2_groups_supplier_1[p_mfgr, p_partkey, s_acctbal, s_address, s_comment, s_name, n_nationkey, s_phone];
  q2_groups_count[ps_partkey] += m_region_1[n_regionkey] * m_partsupp_supplier_1[ps_partkey, n_nationkey];
  q2_groups_min[ps_partkey, value0] += m_region_1[n_regionkey] * m_partsupp_supplier_2[ps_partkey, value0, n_nationkey];
  m_nation_partsupp_region_supplier_1[n_name, p_partkey, ps_supplycost, s_acctbal, s_address, s_comment, s_name, s_phone] += m_region_1[n_regionkey] * m_partsupp_supplier_3[p_partkey, ps_supplycost, s_acctbal, s_address, s_comment, s_name, n_nationkey, s_phone];
  m_nation_partsupp_q2_groups_supplier_1[n_name, n_regionkey, p_partkey, s_acctbal, s_address, s_comment, s_name, s_phone] += m_partsupp_q2_groups_supplier_1[p_partkey, s_acctbal, s_address, s_comment, s_name, n_nationkey, s_phone];
  m_nation_partsupp_supplier_1[n_regionkey, ps_partkey] += m_partsupp_supplier_1[ps_partkey, n_nationkey];
  m_nation_partsupp_supplier_2[n_regionkey, ps_partkey, value0] += m_partsupp_supplier_2[ps_partkey, value0, n_nationkey];
  m_nation_partsupp_supplier_3[n_name, n_regionkey, p_partkey, ps_supplycost, s_acctbal, s_address, s_comment, s_name, s_phone] += m_partsupp_supplier_3[p_partkey, ps_supplycost, s_acctbal, s_address, s_comment, s_name, n_nationkey, s_phone];
  m_nation_1[n_nationkey, n_regionkey] += 1;
  m_nation_2[n_name, n_nationkey, n_regionkey] += 1;
}

ON -nation(n_nationkey, n_name, n_regionkey, n_comment) DO {
  q2_rows[s_acctbal, s_name, n_name, p_partkey, p_mfgr, s_address, s_phone, s_comment] += -1 * m_region_1[n_regionkey] * m_part_partsupp_q2_groups_supplier_1[p_mfgr, p_partkey, s_acctbal, s_address, s_comment, s_name, n_nationkey, s_phone];
  m_nation_partsupp_q2_groups_region_supplier_1[n_name, p_partkey, s_acctbal, s_address, s_comment, s_name, s_phone] += -1 * m_region_1[n_regionkey] * m_partsupp_q2_groups_supplier_1[p_partkey, s_acctbal, s_address, s_comment, s_name, n_nationkey, s_phone];
  m_nation_part_partsupp_q2_groups_supplier_1[n_name, n_regionkey, p_mfgr, p_partkey, s_acctbal, s_address, s_comment, s_name, s_phone] += -1 * m_part_partsupp_q2_groups_supplier_1[p_mfgr, p_partkey, s_acctbal, s_address, s_comment, s_name, n_nationkey, s_phone];
  q2_groups_count[ps_partkey] += -1 * m_region_1[n_regionkey] * m_partsupp_supplier_1[ps_partkey, n_nationkey];
  q2_groups_min[ps_partkey, value0] += -1 * m_region_1[n_regionkey] * m_partsupp_supplier_2[ps_partkey, value0, n_nationkey];
  m_nation_partsupp_region_supplier_1[n_name, p_partkey, ps_supplycost, s_acctbal, s_address, s_comment, s_name, s_phone] += -1 * m_region_1[n_regionkey] * m_partsupp_supplier_3[p_partkey, ps_supplycost, s_acctbal, s_address, s_comment, s_name, n_nationkey, s_phone];
  m_nation_partsupp_q2_groups_supplier_1[n_name, n_regionkey, p_partkey, s_acctbal, s_address, s_comment, s_name, s_phone] += -1 * m_partsupp_q2_groups_supplier_1[p_partkey, s_acctbal, s_address, s_comment, s_name, n_nationkey, s_phone];
  m_nation_partsupp_supplier_1[n_regionkey, ps_partkey] += -1 * m_partsupp_supplier_1[ps_partkey, n_nationkey];
  m_nation_partsupp_supplier_2[n_regionkey, ps_partkey, value0] += -1 * m_partsupp_supplier_2[ps_partkey, value0, n_nationkey];
  m_nation_partsupp_supplier_3[n_name, n_regionkey, p_partkey, ps_supplycost, s_acctbal, s_address, s_comment, s_name, s_phone] += -1 * m_partsupp_supplier_3[p_partkey, ps_supplycost, s_acctbal, s_address, s_comment, s_name, n_nationkey, s_phone];
  m_nation_1[n_nationkey, n_regionkey] += -1;
  m_nation_2[n_name, n_nationkey, n_regionkey] += -1;
}

ON +supplier(s_suppkey, s_name, s_address, s_nationkey, s_phone, s_acctbal, s_comment) DO {
  q2_rows[s_acctbal, s_name, n_name, p_partkey, p_mfgr, s_address, s_phone, s_comment] += m_nation_2[n_name, s_nationkey, n_regionkey] * m_region_1[n_regionkey] * m_part_partsupp_q2_groups_1[p_mfgr, p_partkey, s_suppkey];
  m_nation_partsupp_q2_groups_region_supplier_1[n_name, p_partkey, s_acctbal, s_address, s_comment, s_name, s_phone] += m_partsupp_q2_groups_1[p_partkey, s_suppkey] * m_nation_2[n_name, s_nationkey, n_regionkey] * m_region_1[n_regionkey];
  m_nation_part_partsupp_q2_groups_supplier_1[n_name, n_regionkey, p_mfgr, p_partkey, s_acctbal, s_address, s_comment, s_name, s_phone] += m_nation_2[n_name, s_nationkey, n_regionkey] * m_part_partsupp_q2_groups_1[p_mfgr, p_partkey, s_suppkey];
  q2_groups_count[ps_partkey] += m_nation_1[s_nationkey, n_regionkey] * m_region_1[n_regionkey] * m_partsupp_1[ps_partkey, s_suppkey];
  q2_groups_min[ps_partkey, value0] += m_nation_1[s_nationkey, n_regionkey] * m_region_1[n_regionkey] * m_partsupp_2[ps_partkey, s_suppkey, value0];
  m_part_partsupp_q2_groups_supplier_1[p_mfgr, p_partkey, s_acctbal, s_address, s_comment, s_name, s_nationkey, s_phone] += m_part_partsupp_q2_groups_1[p_mfgr, p_partkey, s_suppkey];
  m_nation_partsupp_region_supplier_1[n_name, p_partkey, ps_supplycost, s_acctbal, s_address, s_comment, s_name, s_phone] += m_nation_2[n_name, s_nationkey, n_regionkey] * m_region_1[n_regionkey] * m_partsupp_2[p_partkey, s_suppkey, ps_supplycost];
  m_nation_partsupp_q2_groups_supplier_1[n_name, n_regionkey, p_partkey, s_acctbal, s_address, s_comment, s_name, s_phone] += m_partsupp_q2_groups_1[p_partkey, s_suppkey] * m_nation_2[n_name, s_nationkey, n_regionkey];
  m_nation_partsupp_supplier_1[n_regionkey, ps_partkey] += m_nation_1[s_nationkey, n_regionkey] * m_partsupp_1[ps_partkey, s_suppkey];
  m_nation_partsupp_supplier_2[n_regionkey, ps_partkey, value0] += m_nation_1[s_nationkey, n_regionkey] * m_partsupp_2[ps_partkey, s_suppkey, value0];
  m_partsupp_q2_groups_supplier_1[p_partkey, s_acctbal, s_address, s_comment, s_name, s_nationkey, s_phone] += m_partsupp_q2_groups_1[p_partkey, s_suppkey];
  m_nation_partsupp_supplier_3[n_name, n_regionkey, p_partkey, ps_supplycost, s_acctbal, s_address, s_comment, s_name, s_phone] += m_nation_2[n_name, s_nationkey, n_regionkey] * m_partsupp_2[p_partkey, s_suppkey, ps_supplycost];
  m_partsupp_supplier_1[ps_partkey, s_nationkey] += m_partsupp_1[ps_partkey, s_suppkey];
  m_partsupp_supplier_2[ps_partkey, value0, s_nationkey] += m_partsupp_2[ps_partkey, s_suppkey, value0];
  m_partsupp_supplier_3[p_partkey, ps_supplycost, s_acctbal, s_address, s_comment, s_name, s_nationkey, s_phone] += m_partsupp_2[p_partkey, s_suppkey, ps_supplycost];
  m_supplier_1[s_nationkey, s_suppkey] += 1;
  m_supplier_2[s_acctbal, s_address, s_comment, s_name, s_nationkey, s_phone, s_suppkey] += 1;
}

ON -supplier(s_suppkey, s_name, s_address, s_nationkey, s_phone, s_acctbal, s_comment) DO {
  q2_rows[s_acctbal, s_name, n_name, p_partkey, p_mfgr, s_address, s_phone, s_comment] += -1 * m_nation_2[n_name, s_nationkey, n_regionkey] * m_region_1[n_regionkey] * m_part_partsupp_q2_groups_1[p_mfgr, p_partkey, s_suppkey];
  m_nation_partsupp_q2_groups_region_supplier_1[n_name, p_partkey, s_acctbal, s_address, s_comment, s_name, s_phone] += -1 * m_partsupp_q2_groups_1[p_partkey, s_suppkey] * m_nation_2[n_name, s_nationkey, n_regionkey] * m_region_1[n_regionkey];
  m_nation_part_partsupp_q2_groups_supplier_1[n_name, n_regionkey, p_mfgr, p_partkey, s_acctbal, s_address, s_comment, s_name, s_phone] += -1 * m_nation_2[n_name, s_nationkey, n_regionkey] * m_part_partsupp_q2_groups_1[p_mfgr, p_partkey, s_suppkey];
  q2_groups_count[ps_partkey] += -1 * m_nation_1[s_nationkey, n_regionkey] * m_region_1[n_regionkey] * m_partsupp_1[ps_partkey, s_suppkey];
  q2_groups_min[ps_partkey, value0] += -1 * m_nation_1[s_nationkey, n_regionkey] * m_region_1[n_regionkey] * m_partsupp_2[ps_partkey, s_suppkey, value0];
  m_part_partsupp_q2_groups_supplier_1[p_mfgr, p_partkey, s_acctbal, s_address, s_comment, s_name, s_nationkey, s_phone] += -1 * m_part_partsupp_q2_groups_1[p_mfgr, p_partkey, s_suppkey];
  m_nation_partsupp_region_supplier_1[n_name, p_partkey, ps_supplycost, s_acctbal, s_address, s_comment, s_name, s_phone] += -1 * m_nation_2[n_name, s_nationkey, n_regionkey] * m_region_1[n_regionkey] * m_partsupp_2[p_partkey, s_suppkey, ps_supplycost];
  m_nation_partsupp_q2_groups_supplier_1[n_name, n_regionkey, p_partkey, s_acctbal, s_address, s_comment, s_name, s_phone] += -1 * m_partsupp_q2_groups_1[p_partkey, s_suppkey] * m_nation_2[n_name, s_nationkey, n_regionkey];
  m_nation_partsupp_supplier_1[n_regionkey, ps_partkey] += -1 * m_nation_1[s_nationkey, n_regionkey] * m_partsupp_1[ps_partkey, s_suppkey];
  m_nation_partsupp_supplier_2[n_regionkey, ps_partkey, value0] += -1 * m_nation_1[s_nationkey, n_regionkey] * m_partsupp_2[ps_partkey, s_suppkey, value0];
  m_partsupp_q2_groups_supplier_1[p_partkey, s_acctbal, s_address, s_comment, s_name, s_nationkey, s_phone] += -1 * m_partsupp_q2_groups_1[p_partkey, s_suppkey];
  m_nation_partsupp_supplier_3[n_name, n_regionkey, p_partkey, ps_supplycost, s_acctbal, s_address, s_comment, s_name, s_phone] += -1 * m_nation_2[n_name, s_nationkey, n_regionkey] * m_partsupp_2[p_partkey, s_suppkey, ps_supplycost];
  m_partsupp_supplier_1[ps_partkey, s_nationkey] += -1 * m_partsupp_1[ps_partkey, s_suppkey];
  m_partsupp_supplier_2[ps_partkey, value0, s_nationkey] += -1 * m_partsupp_2[ps_partkey, s_suppkey, value0];
  m_partsupp_supplier_3[p_partkey, ps_supplycost, s_acctbal, s_address, s_comment, s_name, s_nationkey, s_phone] += -1 * m_partsupp_2[p_partkey, s_suppkey, ps_supplycost];
  m_supplier_1[s_nationkey, s_suppkey] += -1;
  m_supplier_2[s_acctbal, s_address, s_comment, s_name, s_nationkey, s_phone, s_suppkey] += -1;
}

ON +part(p_partkey, p_name, p_mfgr, p_brand, p_type, p_size, p_container, p_retailprice, p_comment) DO {
  q2_rows[s_acctbal, s_name, n_name, p_partkey, p_mfgr, s_address, s_phone, s_comment] += IF p_size = 15 AND p_type LIKE '%BRASS' THEN m_nation_partsupp_q2_groups_region_supplier_1[n_name, p_partkey, s_acctbal, s_address, s_comment, s_name, s_phone] ELSE 0;
  m_nation_part_partsupp_q2_groups_supplier_1[n_name, n_regionkey, p_mfgr, p_partkey, s_acctbal, s_address, s_comment, s_name, s_phone] += IF p_size = 15 AND p_type LIKE '%BRASS' THEN m_nation_partsupp_q2_groups_supplier_1[n_name, n_regionkey, p_partkey, s_acctbal, s_address, s_comment, s_name, s_phone] ELSE 0;
  m_part_partsupp_q2_groups_supplier_1[p_mfgr, p_partkey, s_acctbal, s_address, s_comment, s_name, s_nationkey, s_phone] += IF p_size = 15 AND p_type LIKE '%BRASS' THEN m_partsupp_q2_groups_supplier_1[p_partkey, s_acctbal, s_address, s_comment, s_name, s_nationkey, s_phone] ELSE 0;
  m_part_partsupp_q2_groups_1[p_mfgr, p_partkey, s_suppkey] += IF p_size = 15 AND p_type LIKE '%BRASS' THEN m_partsupp_q2_groups_1[p_partkey, s_suppkey] ELSE 0;
  m_part_1[p_mfgr, p_partkey] += IF p_size = 15 AND p_type LIKE '%BRASS' THEN 1 ELSE 0;
}

ON -part(p_partkey, p_name, p_mfgr, p_brand, p_type, p_size, p_container, p_retailprice, p_comment) DO {
  q2_rows[s_acctbal, s_name, n_name, p_partkey, p_mfgr, s_address, s_phone, s_comment] += IF p_size = 15 AND p_type LIKE '%BRASS' THEN -1 * m_nation_partsupp_q2_groups_region_supplier_1[n_name, p_partkey, s_acctbal, s_address, s_comment, s_name, s_phone] ELSE 0;
  m_nation_part_partsupp_q2_groups_supplier_1[n_name, n_regionkey, p_mfgr, p_partkey, s_acctbal, s_address, s_comment, s_name, s_phone] += IF p_size = 15 AND p_type LIKE '%BRASS' THEN -1 * m_nation_partsupp_q2_groups_supplier_1[n_name, n_regionkey, p_partkey, s_acctbal, s_address, s_comment, s_name, s_phone] ELSE 0;
  m_part_partsupp_q2_groups_supplier_1[p_mfgr, p_partkey, s_acctbal, s_address, s_comment, s_name, s_nationkey, s_phone] += IF p_size = 15 AND p_type LIKE '%BRASS' THEN -1 * m_partsupp_q2_groups_supplier_1[p_partkey, s_acctbal, s_address, s_comment, s_name, s_nationkey, s_phone] ELSE 0;
  m_part_partsupp_q2_groups_1[p_mfgr, p_partkey, s_suppkey] += IF p_size = 15 AND p_type LIKE '%BRASS' THEN -1 * m_partsupp_q2_groups_1[p_partkey, s_suppkey] ELSE 0;
  m_part_1[p_mfgr, p_partkey] += IF p_size = 15 AND p_type LIKE '%BRASS' THEN -1 ELSE 0;
}

ON +partsupp(ps_partkey, ps_suppkey, ps_availqty, ps_supplycost, ps_comment) DO {
  q2_rows[s_acctbal, s_name, n_name, ps_partkey, p_mfgr, s_address, s_phone, s_comment] += m_q2_groups_1[ps_supplycost, ps_partkey] * m_part_1[p_mfgr, ps_partkey] * m_supplier_2[s_acctbal, s_address, s_comment, s_name, s_nationkey, s_phone, ps_suppkey] * m_nation_2[n_name, s_nationkey, n_regionkey] * m_region_1[n_regionkey];
  m_nation_partsupp_q2_groups_region_supplier_1[n_name, ps_partkey, s_acctbal, s_address, s_comment, s_name, s_phone] += m_q2_groups_1[ps_supplycost, ps_partkey] * m_supplier_2[s_acctbal, s_address, s_comment, s_name, s_nationkey, s_phone, ps_suppkey] * m_nation_2[n_name, s_nationkey, n_regionkey] * m_region_1[n_regionkey];
  m_nation_part_partsupp_q2_groups_supplier_1[n_name, n_regionkey, p_mfgr, ps_partkey, s_acctbal, s_address, s_comment, s_name, s_phone] += m_q2_groups_1[ps_supplycost, ps_partkey] * m_part_1[p_mfgr, ps_partkey] * m_supplier_2[s_acctbal, s_address, s_comment, s_name, s_nationkey, s_phone, ps_suppkey] * m_nation_2[n_name, s_nationkey, n_regionkey];
  q2_groups_count[ps_partkey] += m_supplier_1[s_nationkey, ps_suppkey] * m_nation_1[s_nationkey, n_regionkey] * m_region_1[n_regionkey];
  q2_groups_min[ps_partkey, ps_supplycost] += m_supplier_1[s_nationkey, ps_suppkey] * m_nation_1[s_nationkey, n_regionkey] * m_region_1[n_regionkey];
  m_part_partsupp_q2_groups_supplier_1[p_mfgr, ps_partkey, s_acctbal, s_address, s_comment, s_name, s_nationkey, s_phone] += m_q2_groups_1[ps_supplycost, ps_partkey] * m_part_1[p_mfgr, ps_partkey] * m_supplier_2[s_acctbal, s_address, s_comment, s_name, s_nationkey, s_phone, ps_suppkey];
  m_nation_partsupp_region_supplier_1[n_name, ps_partkey, ps_supplycost, s_acctbal, s_address, s_comment, s_name, s_phone] += m_supplier_2[s_acctbal, s_address, s_comment, s_name, s_nationkey, s_phone, ps_suppkey] * m_nation_2[n_name, s_nationkey, n_regionkey] * m_region_1[n_regionkey];
  m_nation_partsupp_q2_groups_supplier_1[n_name, n_regionkey, ps_partkey, s_acctbal, s_address, s_comment, s_name, s_phone] += m_q2_groups_1[ps_supplycost, ps_partkey] * m_supplier_2[s_acctbal, s_address, s_comment, s_name, s_nationkey, s_phone, ps_suppkey] * m_nation_2[n_name, s_nationkey, n_regionkey];
  m_nation_partsupp_supplier_1[n_regionkey, ps_partkey] += m_supplier_1[s_nationkey, ps_suppkey] * m_nation_1[s_nationkey, n_regionkey];
  m_nation_partsupp_supplier_2[n_regionkey, ps_partkey, ps_supplycost] += m_supplier_1[s_nationkey, ps_suppkey] * m_nation_1[s_nationkey, n_regionkey];
  m_part_partsupp_q2_groups_1[p_mfgr, ps_partkey, ps_suppkey] += m_q2_groups_1[ps_supplycost, ps_partkey] * m_part_1[p_mfgr, ps_partkey];
  m_partsupp_q2_groups_supplier_1[ps_partkey, s_acctbal, s_address, s_comment, s_name, s_nationkey, s_phone] += m_q2_groups_1[ps_supplycost, ps_partkey] * m_supplier_2[s_acctbal, s_address, s_comment, s_name, s_nationkey, s_phone, ps_suppkey];
  m_nation_partsupp_supplier_3[n_name, n_regionkey, ps_partkey, ps_supplycost, s_acctbal, s_address, s_comment, s_name, s_phone] += m_supplier_2[s_acctbal, s_address, s_comment, s_name, s_nationkey, s_phone, ps_suppkey] * m_nation_2[n_name, s_nationkey, n_regionkey];
  m_partsupp_supplier_1[ps_partkey, s_nationkey] += m_supplier_1[s_nationkey, ps_suppkey];
  m_partsupp_supplier_2[ps_partkey, ps_supplycost, s_nationkey] += m_supplier_1[s_nationkey, ps_suppkey];
  m_partsupp_q2_groups_1[ps_partkey, ps_suppkey] += m_q2_groups_1[ps_supplycost, ps_partkey];
  m_partsupp_supplier_3[ps_partkey, ps_supplycost, s_acctbal, s_address, s_comment, s_name, s_nationkey, s_phone] += m_supplier_2[s_acctbal, s_address, s_comment, s_name, s_nationkey, s_phone, ps_suppkey];
  m_partsupp_1[ps_partkey, ps_suppkey] += 1;
  m_partsupp_2[ps_partkey, ps_suppkey, ps_supplycost] += 1;
}

ON -partsupp(ps_partkey, ps_suppkey, ps_availqty, ps_supplycost, ps_comment) DO {
  q2_rows[s_acctbal, s_name, n_name, ps_partkey, p_mfgr, s_address, s_phone, s_comment] += -1 * m_q2_groups_1[ps_supplycost, ps_partkey] * m_part_1[p_mfgr, ps_partkey] * m_supplier_2[s_acctbal, s_address, s_comment, s_name, s_nationkey, s_phone, ps_suppkey] * m_nation_2[n_name, s_nationkey, n_regionkey] * m_region_1[n_regionkey];
  m_nation_partsupp_q2_groups_region_supplier_1[n_name, ps_partkey, s_acctbal, s_address, s_comment, s_name, s_phone] += -1 * m_q2_groups_1[ps_supplycost, ps_partkey] * m_supplier_2[s_acctbal, s_address, s_comment, s_name, s_nationkey, s_phone, ps_suppkey] * m_nation_2[n_name, s_nationkey, n_regionkey] * m_region_1[n_regionkey];
  m_nation_part_partsupp_q2_groups_supplier_1[n_name, n_regionkey, p_mfgr, ps_partkey, s_acctbal, s_address, s_comment, s_name, s_phone] += -1 * m_q2_groups_1[ps_supplycost, ps_partkey] * m_part_1[p_mfgr, ps_partkey] * m_supplier_2[s_acctbal, s_address, s_comment, s_name, s_nationkey, s_phone, ps_suppkey] * m_nation_2[n_name, s_nationkey, n_regionkey];
  q2_groups_count[ps_partkey] += -1 * m_supplier_1[s_nationkey, ps_suppkey] * m_nation_1[s_nationkey, n_regionkey] * m_region_1[n_regionkey];
  q2_groups_min[ps_partkey, ps_supplycost] += -1 * m_supplier_1[s_nationkey, ps_suppkey] * m_nation_1[s_nationkey, n_regionkey] * m_region_1[n_regionkey];
  m_part_partsupp_q2_groups_supplier_1[p_mfgr, ps_partkey, s_acctbal, s_address, s_comment, s_name, s_nationkey, s_phone] += -1 * m_q2_groups_1[ps_supplycost, ps_partkey] * m_part_1[p_mfgr, ps_partkey] * m_supplier_2[s_acctbal, s_address, s_comment, s_name, s_nationkey, s_phone, ps_suppkey];
  m_nation_partsupp_region_supplier_1[n_name, ps_partkey, ps_supplycost, s_acctbal, s_address, s_comment, s_name, s_phone] += -1 * m_supplier_2[s_acctbal, s_address, s_comment, s_name, s_nationkey, s_phone, ps_suppkey] * m_nation_2[n_name, s_nationkey, n_regionkey] * m_region_1[n_regionkey];
  m_nation_partsupp_q2_groups_supplier_1[n_name, n_regionkey, ps_partkey, s_acctbal, s_address, s_comment, s_name, s_phone] += -1 * m_q2_groups_1[ps_supplycost, ps_partkey] * m_supplier_2[s_acctbal, s_address, s_comment, s_name, s_nationkey, s_phone, ps_suppkey] * m_nation_2[n_name, s_nationkey, n_regionkey];
  m_nation_partsupp_supplier_1[n_regionkey, ps_partkey] += -1 * m_supplier_1[s_nationkey, ps_suppkey] * m_nation_1[s_nationkey, n_regionkey];
  m_nation_partsupp_supplier_2[n_regionkey, ps_partkey, ps_supplycost] += -1 * m_supplier_1[s_nationkey, ps_suppkey] * m_nation_1[s_nationkey, n_regionkey];
  m_part_partsupp_q2_groups_1[p_mfgr, ps_partkey, ps_suppkey] += -1 * m_q2_groups_1[ps_supplycost, ps_partkey] * m_part_1[p_mfgr, ps_partkey];
  m_partsupp_q2_groups_supplier_1[ps_partkey, s_acctbal, s_address, s_comment, s_name, s_nationkey, s_phone] += -1 * m_q2_groups_1[ps_supplycost, ps_partkey] * m_supplier_2[s_acctbal, s_address, s_comment, s_name, s_nationkey, s_phone, ps_suppkey];
  m_nation_partsupp_supplier_3[n_name, n_regionkey, ps_partkey, ps_supplycost, s_acctbal, s_address, s_comment, s_name, s_phone] += -1 * m_supplier_2[s_acctbal, s_address, s_comment, s_name, s_nationkey, s_phone, ps_suppkey] * m_nation_2[n_name, s_nationkey, n_regionkey];
  m_partsupp_supplier_1[ps_partkey, s_nationkey] += -1 * m_supplier_1[s_nationkey, ps_suppkey];
  m_partsupp_supplier_2[ps_partkey, ps_supplycost, s_nationkey] += -1 * m_supplier_1[s_nationkey, ps_suppkey];
  m_partsupp_q2_groups_1[ps_partkey, ps_suppkey] += -1 * m_q2_groups_1[ps_supplycost, ps_partkey];
  m_partsupp_supplier_3[ps_partkey, ps_supplycost, s_acctbal, s_address, s_comment, s_name, s_nationkey, s_phone] += -1 * m_supplier_2[s_acctbal, s_address, s_comment, s_name, s_nationkey, s_phone, ps_suppkey];
  m_partsupp_1[ps_partkey, ps_suppkey] += -1;
  m_partsupp_2[ps_partkey, ps_suppkey, ps_supplycost] += -1;
}

ON CHANGE q2_groups(ps_partkey, min_2) DO {
  q2_rows[s_acctbal, s_name, n_name, ps_partkey, p_mfgr, s_address, s_phone, s_comment] += IF NOT min_2 IS NULL THEN m_part_1[p_mfgr, ps_partkey] * m_nation_partsupp_region_supplier_1[n_name, ps_partkey, min_2, s_acctbal, s_address, s_comment, s_name, s_phone] ELSE 0;
  m_nation_partsupp_q2_groups_region_supplier_1[n_name, ps_partkey, s_acctbal, s_address, s_comment, s_name, s_phone] += IF NOT min_2 IS NULL THEN m_nation_partsupp_region_supplier_1[n_name, ps_partkey, min_2, s_acctbal, s_address, s_comment, s_name, s_phone] ELSE 0;
  m_nation_part_partsupp_q2_groups_supplier_1[n_name, n_regionkey, p_mfgr, ps_partkey, s_acctbal, s_address, s_comment, s_name, s_phone] += IF NOT min_2 IS NULL THEN m_part_1[p_mfgr, ps_partkey] * m_nation_partsupp_supplier_3[n_name, n_regionkey, ps_partkey, min_2, s_acctbal, s_address, s_comment, s_name, s_phone] ELSE 0;
  m_part_partsupp_q2_groups_supplier_1[p_mfgr, ps_partkey, s_acctbal, s_address, s_comment, s_name, s_nationkey, s_phone] += IF NOT min_2 IS NULL THEN m_part_1[p_mfgr, ps_partkey] * m_partsupp_supplier_3[ps_partkey, min_2, s_acctbal, s_address, s_comment, s_name, s_nationkey, s_phone] ELSE 0;
  m_nation_partsupp_q2_groups_supplier_1[n_name, n_regionkey, ps_partkey, s_acctbal, s_address, s_comment, s_name, s_phone] += IF NOT min_2 IS NULL THEN m_nation_partsupp_supplier_3[n_name, n_regionkey, ps_partkey, min_2, s_acctbal, s_address, s_comment, s_name, s_phone] ELSE 0;
  m_part_partsupp_q2_groups_1[p_mfgr, ps_partkey, s_suppkey] += IF NOT min_2 IS NULL THEN m_part_1[p_mfgr, ps_partkey] * m_partsupp_2[ps_partkey, s_suppkey, min_2] ELSE 0;
  m_partsupp_q2_groups_supplier_1[ps_partkey, s_acctbal, s_address, s_comment, s_name, s_nationkey, s_phone] += IF NOT min_2 IS NULL THEN m_partsupp_supplier_3[ps_partkey, min_2, s_acctbal, s_address, s_comment, s_name, s_nationkey, s_phone] ELSE 0;
  m_partsupp_q2_groups_1[ps_partkey, s_suppkey] += IF NOT min_2 IS NULL THEN m_partsupp_2[ps_partkey, s_suppkey, min_2] ELSE 0;
  m_q2_groups_1[min_2, ps_partkey] += IF NOT min_2 IS NULL THEN 1 ELSE 0;
}
