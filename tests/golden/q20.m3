PROGRAM q20 SEMANTICS SNAPSHOT;

RELATION region(r_regionkey INT, r_name STRING, r_comment STRING) KEY (r_regionkey);
RELATION nation(n_nationkey INT, n_name STRING, n_regionkey INT, n_comment STRING) KEY (n_nationkey);
RELATION supplier(s_suppkey INT, s_name STRING, s_address STRING, s_nationkey INT, s_phone STRING, s_acctbal DECIMAL(15, 2), s_comment STRING) KEY (s_suppkey);
RELATION customer(c_custkey INT, c_name STRING, c_address STRING, c_nationkey INT, c_phone STRING, c_acctbal DECIMAL(15, 2), c_mktsegment STRING, c_comment STRING) KEY (c_custkey);
RELATION part(p_partkey INT, p_name STRING, p_mfgr STRING, p_brand STRING, p_type STRING, p_size INT, p_container STRING, p_retailprice DECIMAL(15, 2), p_comment STRING) KEY (p_partkey);
RELATION partsupp(ps_partkey INT, ps_suppkey INT, ps_availqty INT, ps_supplycost DECIMAL(15, 2), ps_comment STRING) KEY (ps_partkey, ps_suppkey);
RELATION orders(o_orderkey INT, o_custkey INT, o_orderstatus STRING, o_totalprice DECIMAL(15, 2), o_orderdate DATE, o_orderpriority STRING, o_clerk STRING, o_shippriority INT, o_comment STRING) KEY (o_orderkey);
RELATION lineitem(l_orderkey INT, l_partkey INT, l_suppkey INT, l_linenumber INT, l_quantity DECIMAL(15, 2), l_extendedprice DECIMAL(15, 2), l_discount DECIMAL(15, 2), l_tax DECIMAL(15, 2), l_returnflag STRING, l_linestatus STRING, l_shipdate DATE, l_commitdate DATE, l_receiptdate DATE, l_shipinstruct STRING, l_shipmode STRING, l_comment STRING) KEY (l_orderkey, l_linenumber);

MAP q20_in_n[p_partkey INT] : INT
  MEANING 'SELECT part.p_partkey, COUNT(*) FROM part WHERE part.p_name LIKE ''forest%'' GROUP BY part.p_partkey';
MAP q20_groups_count[l_partkey INT, l_suppkey INT] : INT
  MEANING 'SELECT lineitem.l_partkey, lineitem.l_suppkey, COUNT(*) FROM lineitem WHERE lineitem.l_shipdate >= DATE ''1994-01-01'' AND lineitem.l_shipdate < DATE ''1995-01-01'' GROUP BY lineitem.l_partkey, lineitem.l_suppkey';
MAP q20_groups_sum[l_partkey INT, l_suppkey INT] : DECIMAL(25, 2)
  MEANING 'SELECT lineitem.l_partkey, lineitem.l_suppkey, SUM(lineitem.l_quantity) FROM lineitem WHERE lineitem.l_shipdate >= DATE ''1994-01-01'' AND lineitem.l_shipdate < DATE ''1995-01-01'' GROUP BY lineitem.l_partkey, lineitem.l_suppkey';
MAP q20_in_2_n[ps_suppkey INT] : INT
  MEANING 'SELECT partsupp.ps_suppkey, COUNT(*) FROM partsupp, q20_in, q20_groups WHERE partsupp.ps_partkey = q20_in.p_partkey AND partsupp.ps_partkey = q20_groups.l_partkey AND partsupp.ps_suppkey = q20_groups.l_suppkey AND partsupp.ps_availqty > (0.5 * q20_groups.sum_2) GROUP BY partsupp.ps_suppkey';
MAP q20_rows[s_name STRING, s_address STRING] : INT
  MEANING 'SELECT supplier.s_name, supplier.s_address, COUNT(*) FROM supplier, nation, q20_in_2 WHERE supplier.s_nationkey = nation.n_nationkey AND supplier.s_suppkey = q20_in_2.ps_suppkey AND nation.n_name = ''CANADA'' GROUP BY supplier.s_name, supplier.s_address';
MAP m_q20_groups_1[part DECIMAL(27, 3) NULL, l_partkey INT, ps_suppkey INT] : INT
  MEANING 'SELECT 0.5 * q20_groups.sum_2, q20_groups.l_partkey, q20_groups.l_suppkey, COUNT(*) FROM q20_groups GROUP BY 0.5 * q20_groups.sum_2, q20_groups.l_partkey, q20_groups.l_suppkey';
MAP m_partsupp_q20_groups_1[l_partkey INT, ps_suppkey INT] : INT
  MEANING 'SELECT partsupp.ps_partkey, partsupp.ps_suppkey, COUNT(*) FROM partsupp, q20_groups WHERE partsupp.ps_partkey = q20_groups.l_partkey AND partsupp.ps_suppkey = q20_groups.l_suppkey AND partsupp.ps_availqty > (0.5 * q20_groups.sum_2) GROUP BY partsupp.ps_partkey, partsupp.ps_suppkey';
MAP m_partsupp_1[ps_availqty INT, l_partkey INT, ps_suppkey INT] : INT
  MEANING 'SELECT partsupp.ps_availqty, partsupp.ps_partkey, partsupp.ps_suppkey, COUNT(*) FROM partsupp GROUP BY partsupp.ps_availqty, partsupp.ps_partkey, partsupp.ps_suppkey';
MAP m_nation_1[s_nationkey INT] : INT
  MEANING 'SELECT nation.n_nationkey, COUNT(*) FROM nation WHERE nation.n_name = ''CANADA'' GROUP BY nation.n_nationkey';
MAP m_q20_in_2_supplier_1[s_address STRING, s_name STRING, s_nationkey INT] : INT
  MEANING 'SELECT supplier.s_address, supplier.s_name, supplier.s_nationkey, COUNT(*) FROM supplier, q20_in_2 WHERE supplier.s_suppkey = q20_in_2.ps_suppkey GROUP BY supplier.s_address, supplier.s_name, supplier.s_nationkey';
MAP m_supplier_1[s_address STRING, s_name STRING, s_nationkey INT, ps_suppkey INT] : INT
  MEANING 'SELECT supplier.s_address, supplier.s_name, supplier.s_nationkey, supplier.s_suppkey, COUNT(*) FROM supplier GROUP BY supplier.s_address, supplier.s_name, supplier.s_nationkey, supplier.s_suppkey';
MAP q20_in[p_partkey INT] : INT
  MEANING 'one row per (p_partkey)';
MAP q20_groups[l_partkey INT, l_suppkey INT, sum_2 DECIMAL(25, 2) NULL] : INT
  MEANING 'one row per (l_partkey, l_suppkey)';
MAP q20_in_2[ps_suppkey INT] : INT
  MEANING 'one row per (ps_suppkey)';

DERIVE q20_in[p_partkey]
  FROM n = q20_in_n
  COUNT CASE WHEN n > 0 THEN 1 ELSE 0 END;
DERIVE q20_groups[l_partkey, l_suppkey]
  FROM count = q20_groups_count, sum = q20_groups_sum
  SELECT sum_2 = CASE WHEN count > 0 THEN sum ELSE NULL :: DECIMAL(25, 2) END
  COUNT CASE WHEN count > 0 THEN 1 ELSE 0 END;
DERIVE q20_in_2[ps_suppkey]
  FROM n = q20_in_2_n
  COUNT CASE WHEN n > 0 THEN 1 ELSE 0 END;

VIEW q20[s_name STRING, s_address STRING]
  ROWS q20_rows
  COLUMNS s_name = s_name,
    s_address = s_address
  ORDER BY 1
  SQL '-- TPC-H Q20, potential part promotion; validation parameters COLOR = forest, DATE = 1994-01-01, NATION = CANADA.
select
    s_name,
    s_address
from
    supplier,
    nation
where
    s_suppkey in (
        select
            ps_suppkey
        from
            partsupp
        where
            ps_partkey in (
                select
                    p_partkey
                from
                    part
                where
                    p_name like ''forest%''
            )
            and ps_availqty > (
                select
                    0.5 * sum(l_quantity)
                from
                    lineitem
                where
                    l_partkey = ps_partkey
                    and l_suppkey = ps_suppkey
                    and l_shipdate >= date ''1994-01-01''
                    and l_shipdate < date ''1994-01-01'' + interval ''1'' year
            )
    )
    and s_nationkey = n_nationkey
    and n_name = ''CANADA''
order by
    s_name
';

ON +nation(n_nationkey, n_name, n_regionkey, n_comment) DO {
  q20_rows[s_name, s_address] += IF n_name = 'CANADA' THEN m_q20_in_2_supplier_1[s_address, s_name, n_nationkey] ELSE 0;
  m_nation_1[n_nationkey] += IF n_name = 'CANADA' THEN 1 ELSE 0;
}

ON -nation(n_nationkey, n_name, n_regionkey, n_comment) DO {
  q20_rows[s_name, s_address] += IF n_name = 'CANADA' THEN -1 * m_q20_in_2_supplier_1[s_address, s_name, n_nationkey] ELSE 0;
  m_nation_1[n_nationkey] += IF n_name = 'CANADA' THEN -1 ELSE 0;
}

ON +supplier(s_suppkey, s_name, s_address, s_nationkey, s_phone, s_acctbal, s_comment) DO {
  q20_rows[s_name, s_address] += m_nation_1[s_nationkey] * q20_in_2[s_suppkey];
  m_q20_in_2_supplier_1[s_address, s_name, s_nationkey] += q20_in_2[s_suppkey];
  m_supplier_1[s_address, s_name, s_nationkey, s_suppkey] += 1;
}

ON -supplier(s_suppkey, s_name, s_address, s_nationkey, s_phone, s_acctbal, s_comment) DO {
  q20_rows[s_name, s_address] += -1 * m_nation_1[s_nationkey] * q20_in_2[s_suppkey];
  m_q20_in_2_supplier_1[s_address, s_name, s_nationkey] += -1 * q20_in_2[s_suppkey];
  m_supplier_1[s_address, s_name, s_nationkey, s_suppkey] += -1;
}

ON +part(p_partkey, p_name, p_mfgr, p_brand, p_type, p_size, p_container, p_retailprice, p_comment) DO {
  q20_in_n[p_partkey] += IF p_name LIKE 'forest%' THEN 1 ELSE 0;
}

ON -part(p_partkey, p_name, p_mfgr, p_brand, p_type, p_size, p_container, p_retailprice, p_comment) DO {
  q20_in_n[p_partkey] += IF p_name LIKE 'forest%' THEN -1 ELSE 0;
}

ON +partsupp(ps_partkey, ps_suppkey, ps_availqty, ps_supplycost, ps_comment) DO {
  q20_in_2_n[ps_suppkey] += IF ps_availqty > part THEN q20_in[ps_partkey] * m_q20_groups_1[part, ps_partkey, ps_suppkey] ELSE 0;
  m_partsupp_q20_groups_1[ps_partkey, ps_suppkey] += IF ps_availqty > part THEN m_q20_groups_1[part, ps_partkey, ps_suppkey] ELSE 0;
  m_partsupp_1[ps_availqty, ps_partkey, ps_suppkey] += 1;
}

ON -partsupp(ps_partkey, ps_suppkey, ps_availqty, ps_supplycost, ps_comment) DO {
  q20_in_2_n[ps_suppkey] += IF ps_availqty > part THEN -1 * q20_in[ps_partkey] * m_q20_groups_1[part, ps_partkey, ps_suppkey] ELSE 0;
  m_partsupp_q20_groups_1[ps_partkey, ps_suppkey] += IF ps_availqty > part THEN -1 * m_q20_groups_1[part, ps_partkey, ps_suppkey] ELSE 0;
  m_partsupp_1[ps_availqty, ps_partkey, ps_suppkey] += -1;
}

ON +lineitem(l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment) DO {
  q20_groups_count[l_partkey, l_suppkey] += IF l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01' THEN 1 ELSE 0;
  q20_groups_sum[l_partkey, l_suppkey] += IF l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01' THEN l_quantity ELSE 0;
}

ON -lineitem(l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment) DO {
  q20_groups_count[l_partkey, l_suppkey] += IF l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01' THEN -1 ELSE 0;
  q20_groups_sum[l_partkey, l_suppkey] += IF l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01' THEN -1 * l_quantity ELSE 0;
}

ON CHANGE q20_in(p_partkey) DO {
  q20_in_2_n[ps_suppkey] += m_partsupp_q20_groups_1[p_partkey, ps_suppkey];
}

ON CHANGE q20_groups(l_partkey, l_suppkey, sum_2) DO {
  q20_in_2_n[l_suppkey] += IF ps_availqty > 0.5 * sum_2 THEN q20_in[l_partkey] * m_partsupp_1[ps_availqty, l_partkey, l_suppkey] ELSE 0;
  m_partsupp_q20_groups_1[l_partkey, l_suppkey] += IF ps_availqty > 0.5 * sum_2 THEN m_partsupp_1[ps_availqty, l_partkey, l_suppkey] ELSE 0;
  m_q20_groups_1[0.5 * sum_2, l_partkey, l_suppkey] += 1;
}

ON CHANGE q20_in_2(ps_suppkey) DO {
  q20_rows[s_name, s_address] += m_supplier_1[s_address, s_name, s_nationkey, ps_suppkey] * m_nation_1[s_nationkey];
  m_q20_in_2_supplier_1[s_address, s_name, s_nationkey] += m_supplier_1[s_address, s_name, s_nationkey, ps_suppkey];
}
