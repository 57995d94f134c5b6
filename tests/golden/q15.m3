PROGRAM q15 SEMANTICS SNAPSHOT;

RELATION region(r_regionkey INT, r_name STRING, r_comment STRING) KEY (r_regionkey);
RELATION nation(n_nationkey INT, n_name STRING, n_regionkey INT, n_comment STRING) KEY (n_nationkey);
RELATION supplier(s_suppkey INT, s_name STRING, s_address STRING, s_nationkey INT, s_phone STRING, s_acctbal DECIMAL(15, 2), s_comment STRING) KEY (s_suppkey);
RELATION customer(c_custkey INT, c_name STRING, c_address STRING, c_nationkey INT, c_phone STRING, c_acctbal DECIMAL(15, 2), c_mktsegment STRING, c_comment STRING) KEY (c_custkey);
RELATION part(p_partkey INT, p_name STRING, p_mfgr STRING, p_brand STRING, p_type STRING, p_size INT, p_container STRING, p_retailprice DECIMAL(15, 2), p_comment STRING) KEY (p_partkey);
RELATION partsupp(ps_partkey INT, ps_suppkey INT, ps_availqty INT, ps_supplycost DECIMAL(15, 2), ps_comment STRING) KEY (ps_partkey, ps_suppkey);
RELATION orders(o_orderkey INT, o_custkey INT, o_orderstatus STRING, o_totalprice DECIMAL(15, 2), o_orderdate DATE, o_orderpriority STRING, o_clerk STRING, o_shippriority INT, o_comment STRING) KEY (o_orderkey);
RELATION lineitem(l_orderkey INT, l_partkey INT, l_suppkey INT, l_linenumber INT, l_quantity DECIMAL(15, 2), l_extendedprice DECIMAL(15, 2), l_discount DECIMAL(15, 2), l_tax DECIMAL(15, 2), l_returnflag STRING, l_linestatus STRING, l_shipdate DATE, l_commitdate DATE, l_receiptdate DATE, l_shipinstruct STRING, l_shipmode STRING, l_comment STRING) KEY (l_orderkey, l_linenumber);

MAP q15_groups_count[supplier_no INT] : INT
  MEANING 'SELECT lineitem.l_suppkey, COUNT(*) FROM lineitem WHERE lineitem.l_shipdate >= DATE ''1996-01-01'' AND lineitem.l_shipdate < DATE ''1996-04-01'' GROUP BY lineitem.l_suppkey';
MAP q15_groups_total_revenue[supplier_no INT] : DECIMAL(38, 4)
  MEANING 'SELECT lineitem.l_suppkey, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM lineitem WHERE lineitem.l_shipdate >= DATE ''1996-01-01'' AND lineitem.l_shipdate < DATE ''1996-04-01'' GROUP BY lineitem.l_suppkey';
MAP q15_groups_2_count[] : INT
  MEANING 'SELECT COUNT(*) FROM q15_groups';
MAP q15_groups_2_max[value0 DECIMAL(38, 4)] : INT
  MEANING 'SELECT q15_groups.total_revenue_2, COUNT(*) FROM q15_groups GROUP BY q15_groups.total_revenue_2';
MAP q15_rows[s_suppkey INT, s_name STRING, s_address STRING, s_phone STRING, total_revenue DECIMAL(38, 4)] : INT
  MEANING 'SELECT supplier.s_suppkey, supplier.s_name, supplier.s_address, supplier.s_phone, q15_groups.total_revenue_2, COUNT(*) FROM supplier, q15_groups, q15_groups_2 WHERE supplier.s_suppkey = q15_groups.supplier_no AND q15_groups.total_revenue_2 = q15_groups_2.max_2 AND NOT q15_groups_2.max_2 IS NULL GROUP BY supplier.s_suppkey, supplier.s_name, supplier.s_address, supplier.s_phone, q15_groups.total_revenue_2';
MAP q15_failed[supplier_no INT] : INT
  MEANING 'SELECT q15_groups.supplier_no, COUNT(*) FROM q15_groups WHERE q15_groups.failed = 1 GROUP BY q15_groups.supplier_no';
MAP m_q15_groups_q15_groups_2_1[s_suppkey INT, total_revenue DECIMAL(38, 4)] : INT
  MEANING 'SELECT q15_groups.supplier_no, q15_groups.total_revenue_2, COUNT(*) FROM q15_groups, q15_groups_2 WHERE q15_groups.total_revenue_2 = q15_groups_2.max_2 AND NOT q15_groups_2.max_2 IS NULL GROUP BY q15_groups.supplier_no, q15_groups.total_revenue_2';
MAP m_supplier_1[s_address STRING, s_name STRING, s_phone STRING, s_suppkey INT] : INT
  MEANING 'SELECT supplier.s_address, supplier.s_name, supplier.s_phone, supplier.s_suppkey, COUNT(*) FROM supplier GROUP BY supplier.s_address, supplier.s_name, supplier.s_phone, supplier.s_suppkey';
MAP m_q15_groups_2_1[total_revenue DECIMAL(38, 4)] : INT
  MEANING 'SELECT q15_groups_2.max_2, COUNT(*) FROM q15_groups_2 WHERE NOT q15_groups_2.max_2 IS NULL GROUP BY q15_groups_2.max_2';
MAP m_q15_groups_supplier_1[s_suppkey INT, total_revenue DECIMAL(38, 4), s_address STRING, s_name STRING, s_phone STRING] : INT
  MEANING 'SELECT supplier.s_suppkey, q15_groups.total_revenue_2, supplier.s_address, supplier.s_name, supplier.s_phone, COUNT(*) FROM supplier, q15_groups WHERE supplier.s_suppkey = q15_groups.supplier_no GROUP BY supplier.s_suppkey, q15_groups.total_revenue_2, supplier.s_address, supplier.s_name, supplier.s_phone';
MAP q15_groups[supplier_no INT, total_revenue_2 DECIMAL(38, 4), failed INT] : INT
  MEANING 'one row per (supplier_no)';
MAP q15_groups_2[max_2 DECIMAL(38, 4) NULL] : INT
  MEANING 'one row';

DERIVE q15_groups[supplier_no]
  FROM count = q15_groups_count, total_revenue = q15_groups_total_revenue
  SELECT total_revenue_2 = ATTEMPT(total_revenue),
    failed = CASE WHEN FAILS(total_revenue) = 1 THEN 1 ELSE 0 END
  COUNT CASE WHEN count > 0 THEN 1 ELSE 0 END;
DERIVE q15_groups_2[]
  FROM count = q15_groups_2_count, max = MAX(q15_groups_2_max)
  SELECT max_2 = max
  COUNT CASE WHEN count > 0 THEN 1 ELSE 0 END;

VIEW q15[s_suppkey INT, s_name STRING, s_address STRING, s_phone STRING, total_revenue DECIMAL(38, 4) NULL]
  ROWS q15_rows
  COLUMNS s_suppkey = s_suppkey,
    s_name = s_name,
    s_address = s_address,
    s_phone = s_phone,
    total_revenue = total_revenue
  ORDER BY 1
  CHECKS q15_failed FAILS 'sum(l_extendedprice * (1 - l_discount))' OF () AT 'q15' 5 9 39 'sum(l_extendedprice * (1 - l_discount))'
  SQL '-- TPC-H Q15, top supplier; validation parameter DATE = 1996-01-01. The view of the specification is a WITH.
with revenue as (
    select
        l_suppkey as supplier_no,
        sum(l_extendedprice * (1 - l_discount)) as total_revenue
    from
        lineitem
    where
        l_shipdate >= date ''1996-01-01''
        and l_shipdate < date ''1996-01-01'' + interval ''3'' month
    group by
        l_suppkey
)
select
    s_suppkey,
    s_name,
    s_address,
    s_phone,
    total_revenue
from
    supplier,
    revenue
where
    s_suppkey = supplier_no
    and total_revenue = (
        select
            max(total_revenue)
        from
            revenue
    )
order by
    s_suppkey
';

ON +supplier(s_suppkey, s_name, s_address, s_nationkey, s_phone, s_acctbal, s_comment) DO {
  q15_rows[s_suppkey, s_name, s_address, s_phone, total_revenue] += m_q15_groups_q15_groups_2_1[s_suppkey, total_revenue];
  m_q15_groups_supplier_1[s_suppkey, total_revenue, s_address, s_name, s_phone] += q15_groups[s_suppkey, total_revenue, any_failed];
  m_supplier_1[s_address, s_name, s_phone, s_suppkey] += 1;
}

ON -supplier(s_suppkey, s_name, s_address, s_nationkey, s_phone, s_acctbal, s_comment) DO {
  q15_rows[s_suppkey, s_name, s_address, s_phone, total_revenue] += -1 * m_q15_groups_q15_groups_2_1[s_suppkey, total_revenue];
  m_q15_groups_supplier_1[s_suppkey, total_revenue, s_address, s_name, s_phone] += -1 * q15_groups[s_suppkey, total_revenue, any_failed];
  m_supplier_1[s_address, s_name, s_phone, s_suppkey] += -1;
}

ON +lineitem(l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment) DO {
  q15_groups_count[l_suppkey] += IF l_shipdate >= DATE '1996-01-01' AND l_shipdate < DATE '1996-04-01' THEN 1 ELSE 0;
  q15_groups_total_revenue[l_suppkey] += IF l_shipdate >= DATE '1996-01-01' AND l_shipdate < DATE '1996-04-01' THEN (l_extendedprice * (1 - l_discount)) ELSE 0;
}

ON -lineitem(l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment) DO {
  q15_groups_count[l_suppkey] += IF l_shipdate >= DATE '1996-01-01' AND l_shipdate < DATE '1996-04-01' THEN -1 ELSE 0;
  q15_groups_total_revenue[l_suppkey] += IF l_shipdate >= DATE '1996-01-01' AND l_shipdate < DATE '1996-04-01' THEN -1 * (l_extendedprice * (1 - l_discount)) ELSE 0;
}

ON CHANGE q15_groups(supplier_no, total_revenue_2, failed) DO {
  q15_rows[supplier_no, s_name, s_address, s_phone, total_revenue_2] += m_q15_groups_2_1[total_revenue_2] * m_supplier_1[s_address, s_name, s_phone, supplier_no];
  m_q15_groups_q15_groups_2_1[supplier_no, total_revenue_2] += m_q15_groups_2_1[total_revenue_2];
  m_q15_groups_supplier_1[supplier_no, total_revenue_2, s_address, s_name, s_phone] += m_supplier_1[s_address, s_name, s_phone, supplier_no];
  q15_groups_2_count[] += 1;
  q15_groups_2_max[total_revenue_2] += 1;
  q15_failed[supplier_no] += IF failed = 1 THEN 1 ELSE 0;
}

ON CHANGE q15_groups_2(max_2) DO {
  q15_rows[s_suppkey, s_name, s_address, s_phone, max_2] += IF NOT max_2 IS NULL THEN m_q15_groups_supplier_1[s_suppkey, max_2, s_address, s_name, s_phone] ELSE 0;
  m_q15_groups_q15_groups_2_1[s_suppkey, max_2] += IF NOT max_2 IS NULL THEN q15_groups[s_suppkey, max_2, any_failed] ELSE 0;
  m_q15_groups_2_1[max_2] += IF NOT max_2 IS NULL THEN 1 ELSE 0;
}
