PROGRAM q21 SEMANTICS SNAPSHOT;

RELATION region(r_regionkey INT, r_name STRING, r_comment STRING) KEY (r_regionkey);
RELATION nation(n_nationkey INT, n_name STRING, n_regionkey INT, n_comment STRING) KEY (n_nationkey);
RELATION supplier(s_suppkey INT, s_name STRING, s_address STRING, s_nationkey INT, s_phone STRING, s_acctbal DECIMAL(15, 2), s_comment STRING) KEY (s_suppkey);
RELATION customer(c_custkey INT, c_name STRING, c_address STRING, c_nationkey INT, c_phone STRING, c_acctbal DECIMAL(15, 2), c_mktsegment STRING, c_comment STRING) KEY (c_custkey);
RELATION part(p_partkey INT, p_name STRING, p_mfgr STRING, p_brand STRING, p_type STRING, p_size INT, p_container STRING, p_retailprice DECIMAL(15, 2), p_comment STRING) KEY (p_partkey);
RELATION partsupp(ps_partkey INT, ps_suppkey INT, ps_availqty INT, ps_supplycost DECIMAL(15, 2), ps_comment STRING) KEY (ps_partkey, ps_suppkey);
RELATION orders(o_orderkey INT, o_custkey INT, o_orderstatus STRING, o_totalprice DECIMAL(15, 2), o_orderdate DATE, o_orderpriority STRING, o_clerk STRING, o_shippriority INT, o_comment STRING) KEY (o_orderkey);
RELATION lineitem(l_orderkey INT, l_partkey INT, l_suppkey INT, l_linenumber INT, l_quantity DECIMAL(15, 2), l_extendedprice DECIMAL(15, 2), l_discount DECIMAL(15, 2), l_tax DECIMAL(15, 2), l_returnflag STRING, l_linestatus STRING, l_shipdate DATE, l_commitdate DATE, l_receiptdate DATE, l_shipinstruct STRING, l_shipmode STRING, l_comment STRING) KEY (l_orderkey, l_linenumber);

MAP q21_domain_n[l_orderkey INT, l_suppkey INT] : INT
  MEANING 'SELECT lineitem.l_orderkey, lineitem.l_suppkey, COUNT(*) FROM lineitem WHERE lineitem.l_receiptdate > lineitem.l_commitdate GROUP BY lineitem.l_orderkey, lineitem.l_suppkey';
MAP q21_exists_n[l_orderkey INT, l_suppkey INT] : INT
  MEANING 'SELECT lineitem.l_orderkey, q21_domain.l_suppkey, COUNT(*) FROM lineitem, q21_domain WHERE lineitem.l_orderkey = q21_domain.l_orderkey AND lineitem.l_suppkey <> q21_domain.l_suppkey GROUP BY lineitem.l_orderkey, q21_domain.l_suppkey';
MAP q21_exists_2_n[l_orderkey INT, l_suppkey INT] : INT
  MEANING 'SELECT lineitem.l_orderkey, q21_domain.l_suppkey, COUNT(*) FROM lineitem, q21_domain WHERE lineitem.l_orderkey = q21_domain.l_orderkey AND lineitem.l_receiptdate > lineitem.l_commitdate AND lineitem.l_suppkey <> q21_domain.l_suppkey GROUP BY lineitem.l_orderkey, q21_domain.l_suppkey';
MAP q21_rows_n[s_name STRING] : INT
  MEANING 'SELECT supplier.s_name, COUNT(*) FROM supplier, lineitem, orders, nation, q21_exists WHERE supplier.s_nationkey = nation.n_nationkey AND supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_suppkey = q21_exists.l_suppkey AND lineitem.l_orderkey = orders.o_orderkey AND lineitem.l_orderkey = q21_exists.l_orderkey AND lineitem.l_receiptdate > lineitem.l_commitdate AND orders.o_orderstatus = ''F'' AND nation.n_name = ''SAUDI ARABIA'' GROUP BY supplier.s_name UNION ALL SELECT supplier.s_name, SUM(-1) FROM supplier, lineitem, orders, nation, q21_exists, q21_exists_2 WHERE supplier.s_nationkey = nation.n_nationkey AND supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_suppkey = q21_exists.l_suppkey AND supplier.s_suppkey = q21_exists_2.l_suppkey AND lineitem.l_orderkey = orders.o_orderkey AND lineitem.l_orderkey = q21_exists.l_orderkey AND lineitem.l_orderkey = q21_exists_2.l_orderkey AND lineitem.l_receiptdate > lineitem.l_commitdate AND orders.o_orderstatus = ''F'' AND nation.n_name = ''SAUDI ARABIA'' GROUP BY supplier.s_name';
MAP q21_count[s_name STRING] : INT
  MEANING 'SELECT q21_rows.s_name, COUNT(*) FROM q21_rows GROUP BY q21_rows.s_name';
MAP m_lineitem_1[l_orderkey INT, l_suppkey_2 INT] : INT
  MEANING 'SELECT lineitem.l_orderkey, lineitem.l_suppkey, COUNT(*) FROM lineitem GROUP BY lineitem.l_orderkey, lineitem.l_suppkey';
MAP m_lineitem_orders_q21_exists_1[l_suppkey INT] : INT
  MEANING 'SELECT lineitem.l_suppkey, COUNT(*) FROM lineitem, orders, q21_exists WHERE lineitem.l_orderkey = orders.o_orderkey AND lineitem.l_orderkey = q21_exists.l_orderkey AND lineitem.l_suppkey = q21_exists.l_suppkey AND lineitem.l_receiptdate > lineitem.l_commitdate AND orders.o_orderstatus = ''F'' GROUP BY lineitem.l_suppkey';
MAP m_nation_1[s_nationkey INT] : INT
  MEANING 'SELECT nation.n_nationkey, COUNT(*) FROM nation WHERE nation.n_name = ''SAUDI ARABIA'' GROUP BY nation.n_nationkey';
MAP m_supplier_1[s_name STRING, s_nationkey INT, l_suppkey INT] : INT
  MEANING 'SELECT supplier.s_name, supplier.s_nationkey, supplier.s_suppkey, COUNT(*) FROM supplier GROUP BY supplier.s_name, supplier.s_nationkey, supplier.s_suppkey';
MAP m_orders_1[l_orderkey INT] : INT
  MEANING 'SELECT orders.o_orderkey, COUNT(*) FROM orders WHERE orders.o_orderstatus = ''F'' GROUP BY orders.o_orderkey';
MAP m_lineitem_nation_q21_exists_supplier_1[l_orderkey INT, s_name STRING] : INT
  MEANING 'SELECT lineitem.l_orderkey, supplier.s_name, COUNT(*) FROM supplier, lineitem, nation, q21_exists WHERE supplier.s_nationkey = nation.n_nationkey AND supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_suppkey = q21_exists.l_suppkey AND lineitem.l_orderkey = q21_exists.l_orderkey AND lineitem.l_receiptdate > lineitem.l_commitdate AND nation.n_name = ''SAUDI ARABIA'' GROUP BY lineitem.l_orderkey, supplier.s_name';
MAP m_lineitem_orders_q21_exists_supplier_1[s_name STRING, s_nationkey INT] : INT
  MEANING 'SELECT supplier.s_name, supplier.s_nationkey, COUNT(*) FROM supplier, lineitem, orders, q21_exists WHERE supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_suppkey = q21_exists.l_suppkey AND lineitem.l_orderkey = orders.o_orderkey AND lineitem.l_orderkey = q21_exists.l_orderkey AND lineitem.l_receiptdate > lineitem.l_commitdate AND orders.o_orderstatus = ''F'' GROUP BY supplier.s_name, supplier.s_nationkey';
MAP m_lineitem_orders_q21_exists_q21_exists_2_1[l_suppkey INT] : INT
  MEANING 'SELECT lineitem.l_suppkey, COUNT(*) FROM lineitem, orders, q21_exists, q21_exists_2 WHERE lineitem.l_orderkey = orders.o_orderkey AND lineitem.l_orderkey = q21_exists.l_orderkey AND lineitem.l_orderkey = q21_exists_2.l_orderkey AND lineitem.l_suppkey = q21_exists.l_suppkey AND lineitem.l_suppkey = q21_exists_2.l_suppkey AND lineitem.l_receiptdate > lineitem.l_commitdate AND orders.o_orderstatus = ''F'' GROUP BY lineitem.l_suppkey';
MAP m_lineitem_nation_q21_exists_q21_exists_2_supplier_1[l_orderkey INT, s_name STRING] : INT
  MEANING 'SELECT lineitem.l_orderkey, supplier.s_name, COUNT(*) FROM supplier, lineitem, nation, q21_exists, q21_exists_2 WHERE supplier.s_nationkey = nation.n_nationkey AND supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_suppkey = q21_exists.l_suppkey AND supplier.s_suppkey = q21_exists_2.l_suppkey AND lineitem.l_orderkey = q21_exists.l_orderkey AND lineitem.l_orderkey = q21_exists_2.l_orderkey AND lineitem.l_receiptdate > lineitem.l_commitdate AND nation.n_name = ''SAUDI ARABIA'' GROUP BY lineitem.l_orderkey, supplier.s_name';
MAP m_lineitem_orders_q21_exists_q21_exists_2_supplier_1[s_name STRING, s_nationkey INT] : INT
  MEANING 'SELECT supplier.s_name, supplier.s_nationkey, COUNT(*) FROM supplier, lineitem, orders, q21_exists, q21_exists_2 WHERE supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_suppkey = q21_exists.l_suppkey AND supplier.s_suppkey = q21_exists_2.l_suppkey AND lineitem.l_orderkey = orders.o_orderkey AND lineitem.l_orderkey = q21_exists.l_orderkey AND lineitem.l_orderkey = q21_exists_2.l_orderkey AND lineitem.l_receiptdate > lineitem.l_commitdate AND orders.o_orderstatus = ''F'' GROUP BY supplier.s_name, supplier.s_nationkey';
MAP m_lineitem_q21_exists_1[l_orderkey INT, l_suppkey INT] : INT
  MEANING 'SELECT lineitem.l_orderkey, lineitem.l_suppkey, COUNT(*) FROM lineitem, q21_exists WHERE lineitem.l_orderkey = q21_exists.l_orderkey AND lineitem.l_suppkey = q21_exists.l_suppkey AND lineitem.l_receiptdate > lineitem.l_commitdate GROUP BY lineitem.l_orderkey, lineitem.l_suppkey';
MAP m_lineitem_q21_exists_supplier_1[l_orderkey INT, s_name STRING, s_nationkey INT] : INT
  MEANING 'SELECT lineitem.l_orderkey, supplier.s_name, supplier.s_nationkey, COUNT(*) FROM supplier, lineitem, q21_exists WHERE supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_suppkey = q21_exists.l_suppkey AND lineitem.l_orderkey = q21_exists.l_orderkey AND lineitem.l_receiptdate > lineitem.l_commitdate GROUP BY lineitem.l_orderkey, supplier.s_name, supplier.s_nationkey';
MAP m_lineitem_q21_exists_q21_exists_2_1[l_orderkey INT, l_suppkey INT] : INT
  MEANING 'SELECT lineitem.l_orderkey, lineitem.l_suppkey, COUNT(*) FROM lineitem, q21_exists, q21_exists_2 WHERE lineitem.l_orderkey = q21_exists.l_orderkey AND lineitem.l_orderkey = q21_exists_2.l_orderkey AND lineitem.l_suppkey = q21_exists.l_suppkey AND lineitem.l_suppkey = q21_exists_2.l_suppkey AND lineitem.l_receiptdate > lineitem.l_commitdate GROUP BY lineitem.l_orderkey, lineitem.l_suppkey';
MAP m_lineitem_q21_exists_q21_exists_2_supplier_1[l_orderkey INT, s_name STRING, s_nationkey INT] : INT
  MEANING 'SELECT lineitem.l_orderkey, supplier.s_name, supplier.s_nationkey, COUNT(*) FROM supplier, lineitem, q21_exists, q21_exists_2 WHERE supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_suppkey = q21_exists.l_suppkey AND supplier.s_suppkey = q21_exists_2.l_suppkey AND lineitem.l_orderkey = q21_exists.l_orderkey AND lineitem.l_orderkey = q21_exists_2.l_orderkey AND lineitem.l_receiptdate > lineitem.l_commitdate GROUP BY lineitem.l_orderkey, supplier.s_name, supplier.s_nationkey';
MAP q21_domain[l_orderkey INT, l_suppkey INT] : INT
  MEANING 'one row per (l_orderkey, l_suppkey)';
MAP q21_exists[l_orderkey INT, l_suppkey INT] : INT
  MEANING 'one row per (l_orderkey, l_suppkey)';
MAP q21_exists_2[l_orderkey INT, l_suppkey INT] : INT
  MEANING 'one row per (l_orderkey, l_suppkey)';
MAP q21_rows[s_name STRING] : INT
  MEANING 'one row per (s_name)';

DERIVE q21_domain[l_orderkey, l_suppkey]
  FROM n = q21_domain_n
  COUNT CASE WHEN n > 0 THEN 1 ELSE 0 END;
DERIVE q21_exists[l_orderkey, l_suppkey]
  FROM n = q21_exists_n
  COUNT CASE WHEN n > 0 THEN 1 ELSE 0 END;
DERIVE q21_exists_2[l_orderkey, l_suppkey]
  FROM n = q21_exists_2_n
  COUNT CASE WHEN n > 0 THEN 1 ELSE 0 END;
DERIVE q21_rows[s_name]
  FROM n = q21_rows_n
  COUNT n;

VIEW q21[s_name STRING]
  VALUES count = q21_count
  EXISTS q21_count
  COLUMNS s_name = s_name,
    numwait = count
  ORDER BY 2 DESC, 1
  LIMIT 100
  SQL '-- TPC-H Q21, suppliers who kept orders waiting; validation parameter NATION = SAUDI ARABIA.
select
    s_name,
    count(*) as numwait
from
    supplier,
    lineitem l1,
    orders,
    nation
where
    s_suppkey = l1.l_suppkey
    and o_orderkey = l1.l_orderkey
    and o_orderstatus = ''F''
    and l1.l_receiptdate > l1.l_commitdate
    and exists (
        select
            *
        from
            lineitem l2
        where
            l2.l_orderkey = l1.l_orderkey
            and l2.l_suppkey <> l1.l_suppkey
    )
    and not exists (
        select
            *
        from
            lineitem l3
        where
            l3.l_orderkey = l1.l_orderkey
            and l3.l_suppkey <> l1.l_suppkey
            and l3.l_receiptdate > l3.l_commitdate
    )
    and s_nationkey = n_nationkey
    and n_name = ''SAUDI ARABIA''
group by
    s_name
order by
    numwait desc,
    s_name
limit 100
';

ON +nation(n_nationkey, n_name, n_regionkey, n_comment) DO {
  q21_rows_n[s_name] += IF n_name = 'SAUDI ARABIA' THEN m_lineitem_orders_q21_exists_supplier_1[s_name, n_nationkey] ELSE 0;
  q21_rows_n[s_name] += IF n_name = 'SAUDI ARABIA' THEN -1 * m_lineitem_orders_q21_exists_q21_exists_2_supplier_1[s_name, n_nationkey] ELSE 0;
  m_lineitem_nation_q21_exists_q21_exists_2_supplier_1[l_orderkey, s_name] += IF n_name = 'SAUDI ARABIA' THEN m_lineitem_q21_exists_q21_exists_2_supplier_1[l_orderkey, s_name, n_nationkey] ELSE 0;
  m_lineitem_nation_q21_exists_supplier_1[l_orderkey, s_name] += IF n_name = 'SAUDI ARABIA' THEN m_lineitem_q21_exists_supplier_1[l_orderkey, s_name, n_nationkey] ELSE 0;
  m_nation_1[n_nationkey] += IF n_name = 'SAUDI ARABIA' THEN 1 ELSE 0;
}

ON -nation(n_nationkey, n_name, n_regionkey, n_comment) DO {
  q21_rows_n[s_name] += IF n_name = 'SAUDI ARABIA' THEN -1 * m_lineitem_orders_q21_exists_supplier_1[s_name, n_nationkey] ELSE 0;
  q21_rows_n[s_name] += IF n_name = 'SAUDI ARABIA' THEN m_lineitem_orders_q21_exists_q21_exists_2_supplier_1[s_name, n_nationkey] ELSE 0;
  m_lineitem_nation_q21_exists_q21_exists_2_supplier_1[l_orderkey, s_name] += IF n_name = 'SAUDI ARABIA' THEN -1 * m_lineitem_q21_exists_q21_exists_2_supplier_1[l_orderkey, s_name, n_nationkey] ELSE 0;
  m_lineitem_nation_q21_exists_supplier_1[l_orderkey, s_name] += IF n_name = 'SAUDI ARABIA' THEN -1 * m_lineitem_q21_exists_supplier_1[l_orderkey, s_name, n_nationkey] ELSE 0;
  m_nation_1[n_nationkey] += IF n_name = 'SAUDI ARABIA' THEN -1 ELSE 0;
}

ON +supplier(s_suppkey, s_name, s_address, s_nationkey, s_phone, s_acctbal, s_comment) DO {
  q21_rows_n[s_name] += m_lineitem_orders_q21_exists_1[s_suppkey] * m_nation_1[s_nationkey];
  q21_rows_n[s_name] += -1 * m_lineitem_orders_q21_exists_q21_exists_2_1[s_suppkey] * m_nation_1[s_nationkey];
  m_lineitem_nation_q21_exists_q21_exists_2_supplier_1[l_orderkey, s_name] += m_nation_1[s_nationkey] * m_lineitem_q21_exists_q21_exists_2_1[l_orderkey, s_suppkey];
  m_lineitem_orders_q21_exists_q21_exists_2_supplier_1[s_name, s_nationkey] += m_lineitem_orders_q21_exists_q21_exists_2_1[s_suppkey];
  m_lineitem_nation_q21_exists_supplier_1[l_orderkey, s_name] += m_nation_1[s_nationkey] * m_lineitem_q21_exists_1[l_orderkey, s_suppkey];
  m_lineitem_orders_q21_exists_supplier_1[s_name, s_nationkey] += m_lineitem_orders_q21_exists_1[s_suppkey];
  m_lineitem_q21_exists_q21_exists_2_supplier_1[l_orderkey, s_name, s_nationkey] += m_lineitem_q21_exists_q21_exists_2_1[l_orderkey, s_suppkey];
  m_lineitem_q21_exists_supplier_1[l_orderkey, s_name, s_nationkey] += m_lineitem_q21_exists_1[l_orderkey, s_suppkey];
  m_supplier_1[s_name, s_nationkey, s_suppkey] += 1;
}

ON -supplier(s_suppkey, s_name, s_address, s_nationkey, s_phone, s_acctbal, s_comment) DO {
  q21_rows_n[s_name] += -1 * m_lineitem_orders_q21_exists_1[s_suppkey] * m_nation_1[s_nationkey];
  q21_rows_n[s_name] += m_lineitem_orders_q21_exists_q21_exists_2_1[s_suppkey] * m_nation_1[s_nationkey];
  m_lineitem_nation_q21_exists_q21_exists_2_supplier_1[l_orderkey, s_name] += -1 * m_nation_1[s_nationkey] * m_lineitem_q21_exists_q21_exists_2_1[l_orderkey, s_suppkey];
  m_lineitem_orders_q21_exists_q21_exists_2_supplier_1[s_name, s_nationkey] += -1 * m_lineitem_orders_q21_exists_q21_exists_2_1[s_suppkey];
  m_lineitem_nation_q21_exists_supplier_1[l_orderkey, s_name] += -1 * m_nation_1[s_nationkey] * m_lineitem_q21_exists_1[l_orderkey, s_suppkey];
  m_lineitem_orders_q21_exists_supplier_1[s_name, s_nationkey] += -1 * m_lineitem_orders_q21_exists_1[s_suppkey];
  m_lineitem_q21_exists_q21_exists_2_supplier_1[l_orderkey, s_name, s_nationkey] += -1 * m_lineitem_q21_exists_q21_exists_2_1[l_orderkey, s_suppkey];
  m_lineitem_q21_exists_supplier_1[l_orderkey, s_name, s_nationkey] += -1 * m_lineitem_q21_exists_1[l_orderkey, s_suppkey];
  m_supplier_1[s_name, s_nationkey, s_suppkey] += -1;
}

ON +orders(o_orderkey, o_custkey, o_orderstatus, o_totalprice, o_orderdate, o_orderpriority, o_clerk, o_shippriority, o_comment) DO {
  q21_rows_n[s_name] += IF o_orderstatus = 'F' THEN m_lineitem_nation_q21_exists_supplier_1[o_orderkey, s_name] ELSE 0;
  q21_rows_n[s_name] += IF o_orderstatus = 'F' THEN -1 * m_lineitem_nation_q21_exists_q21_exists_2_supplier_1[o_orderkey, s_name] ELSE 0;
  m_lineitem_orders_q21_exists_q21_exists_2_supplier_1[s_name, s_nationkey] += IF o_orderstatus = 'F' THEN m_lineitem_q21_exists_q21_exists_2_supplier_1[o_orderkey, s_name, s_nationkey] ELSE 0;
  m_lineitem_orders_q21_exists_supplier_1[s_name, s_nationkey] += IF o_orderstatus = 'F' THEN m_lineitem_q21_exists_supplier_1[o_orderkey, s_name, s_nationkey] ELSE 0;
  m_lineitem_orders_q21_exists_q21_exists_2_1[l_suppkey] += IF o_orderstatus = 'F' THEN m_lineitem_q21_exists_q21_exists_2_1[o_orderkey, l_suppkey] ELSE 0;
  m_lineitem_orders_q21_exists_1[l_suppkey] += IF o_orderstatus = 'F' THEN m_lineitem_q21_exists_1[o_orderkey, l_suppkey] ELSE 0;
  m_orders_1[o_orderkey] += IF o_orderstatus = 'F' THEN 1 ELSE 0;
}

ON -orders(o_orderkey, o_custkey, o_orderstatus, o_totalprice, o_orderdate, o_orderpriority, o_clerk, o_shippriority, o_comment) DO {
  q21_rows_n[s_name] += IF o_orderstatus = 'F' THEN -1 * m_lineitem_nation_q21_exists_supplier_1[o_orderkey, s_name] ELSE 0;
  q21_rows_n[s_name] += IF o_orderstatus = 'F' THEN m_lineitem_nation_q21_exists_q21_exists_2_supplier_1[o_orderkey, s_name] ELSE 0;
  m_lineitem_orders_q21_exists_q21_exists_2_supplier_1[s_name, s_nationkey] += IF o_orderstatus = 'F' THEN -1 * m_lineitem_q21_exists_q21_exists_2_supplier_1[o_orderkey, s_name, s_nationkey] ELSE 0;
  m_lineitem_orders_q21_exists_supplier_1[s_name, s_nationkey] += IF o_orderstatus = 'F' THEN -1 * m_lineitem_q21_exists_supplier_1[o_orderkey, s_name, s_nationkey] ELSE 0;
  m_lineitem_orders_q21_exists_q21_exists_2_1[l_suppkey] += IF o_orderstatus = 'F' THEN -1 * m_lineitem_q21_exists_q21_exists_2_1[o_orderkey, l_suppkey] ELSE 0;
  m_lineitem_orders_q21_exists_1[l_suppkey] += IF o_orderstatus = 'F' THEN -1 * m_lineitem_q21_exists_1[o_orderkey, l_suppkey] ELSE 0;
  m_orders_1[o_orderkey] += IF o_orderstatus = 'F' THEN -1 ELSE 0;
}

ON +lineitem(l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment) DO {
  q21_rows_n[s_name] += IF l_receiptdate > l_commitdate THEN m_orders_1[l_orderkey] * q21_exists[l_orderkey, l_suppkey] * m_supplier_1[s_name, s_nationkey, l_suppkey] * m_nation_1[s_nationkey] ELSE 0;
  q21_rows_n[s_name] += IF l_receiptdate > l_commitdate THEN -1 * m_orders_1[l_orderkey] * q21_exists[l_orderkey, l_suppkey] * q21_exists_2[l_orderkey, l_suppkey] * m_supplier_1[s_name, s_nationkey, l_suppkey] * m_nation_1[s_nationkey] ELSE 0;
  m_lineitem_nation_q21_exists_q21_exists_2_supplier_1[l_orderkey, s_name] += IF l_receiptdate > l_commitdate THEN q21_exists[l_orderkey, l_suppkey] * q21_exists_2[l_orderkey, l_suppkey] * m_supplier_1[s_name, s_nationkey, l_suppkey] * m_nation_1[s_nationkey] ELSE 0;
  m_lineitem_orders_q21_exists_q21_exists_2_supplier_1[s_name, s_nationkey] += IF l_receiptdate > l_commitdate THEN m_orders_1[l_orderkey] * q21_exists[l_orderkey, l_suppkey] * q21_exists_2[l_orderkey, l_suppkey] * m_supplier_1[s_name, s_nationkey, l_suppkey] ELSE 0;
  m_lineitem_nation_q21_exists_supplier_1[l_orderkey, s_name] += IF l_receiptdate > l_commitdate THEN q21_exists[l_orderkey, l_suppkey] * m_supplier_1[s_name, s_nationkey, l_suppkey] * m_nation_1[s_nationkey] ELSE 0;
  m_lineitem_orders_q21_exists_supplier_1[s_name, s_nationkey] += IF l_receiptdate > l_commitdate THEN m_orders_1[l_orderkey] * q21_exists[l_orderkey, l_suppkey] * m_supplier_1[s_name, s_nationkey, l_suppkey] ELSE 0;
  m_lineitem_orders_q21_exists_q21_exists_2_1[l_suppkey] += IF l_receiptdate > l_commitdate THEN m_orders_1[l_orderkey] * q21_exists[l_orderkey, l_suppkey] * q21_exists_2[l_orderkey, l_suppkey] ELSE 0;
  m_lineitem_q21_exists_q21_exists_2_supplier_1[l_orderkey, s_name, s_nationkey] += IF l_receiptdate > l_commitdate THEN q21_exists[l_orderkey, l_suppkey] * q21_exists_2[l_orderkey, l_suppkey] * m_supplier_1[s_name, s_nationkey, l_suppkey] ELSE 0;
  m_lineitem_orders_q21_exists_1[l_suppkey] += IF l_receiptdate > l_commitdate THEN m_orders_1[l_orderkey] * q21_exists[l_orderkey, l_suppkey] ELSE 0;
  m_lineitem_q21_exists_supplier_1[l_orderkey, s_name, s_nationkey] += IF l_receiptdate > l_commitdate THEN q21_exists[l_orderkey, l_suppkey] * m_supplier_1[s_name, s_nationkey, l_suppkey] ELSE 0;
  m_lineitem_q21_exists_q21_exists_2_1[l_orderkey, l_suppkey] += IF l_receiptdate > l_commitdate THEN q21_exists[l_orderkey, l_suppkey] * q21_exists_2[l_orderkey, l_suppkey] ELSE 0;
  q21_exists_n[l_orderkey, l_suppkey_1] += IF l_suppkey <> l_suppkey_1 THEN q21_domain[l_orderkey, l_suppkey_1] ELSE 0;
  q21_exists_2_n[l_orderkey, l_suppkey_1] += IF l_receiptdate > l_commitdate AND l_suppkey <> l_suppkey_1 THEN q21_domain[l_orderkey, l_suppkey_1] ELSE 0;
  m_lineitem_q21_exists_1[l_orderkey, l_suppkey] += IF l_receiptdate > l_commitdate THEN q21_exists[l_orderkey, l_suppkey] ELSE 0;
  q21_domain_n[l_orderkey, l_suppkey] += IF l_receiptdate > l_commitdate THEN 1 ELSE 0;
  m_lineitem_1[l_orderkey, l_suppkey] += 1;
}

ON -lineitem(l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment) DO {
  q21_rows_n[s_name] += IF l_receiptdate > l_commitdate THEN -1 * m_orders_1[l_orderkey] * q21_exists[l_orderkey, l_suppkey] * m_supplier_1[s_name, s_nationkey, l_suppkey] * m_nation_1[s_nationkey] ELSE 0;
  q21_rows_n[s_name] += IF l_receiptdate > l_commitdate THEN m_orders_1[l_orderkey] * q21_exists[l_orderkey, l_suppkey] * q21_exists_2[l_orderkey, l_suppkey] * m_supplier_1[s_name, s_nationkey, l_suppkey] * m_nation_1[s_nationkey] ELSE 0;
  m_lineitem_nation_q21_exists_q21_exists_2_supplier_1[l_orderkey, s_name] += IF l_receiptdate > l_commitdate THEN -1 * q21_exists[l_orderkey, l_suppkey] * q21_exists_2[l_orderkey, l_suppkey] * m_supplier_1[s_name, s_nationkey, l_suppkey] * m_nation_1[s_nationkey] ELSE 0;
  m_lineitem_orders_q21_exists_q21_exists_2_supplier_1[s_name, s_nationkey] += IF l_receiptdate > l_commitdate THEN -1 * m_orders_1[l_orderkey] * q21_exists[l_orderkey, l_suppkey] * q21_exists_2[l_orderkey, l_suppkey] * m_supplier_1[s_name, s_nationkey, l_suppkey] ELSE 0;
  m_lineitem_nation_q21_exists_supplier_1[l_orderkey, s_name] += IF l_receiptdate > l_commitdate THEN -1 * q21_exists[l_orderkey, l_suppkey] * m_supplier_1[s_name, s_nationkey, l_suppkey] * m_nation_1[s_nationkey] ELSE 0;
  m_lineitem_orders_q21_exists_supplier_1[s_name, s_nationkey] += IF l_receiptdate > l_commitdate THEN -1 * m_orders_1[l_orderkey] * q21_exists[l_orderkey, l_suppkey] * m_supplier_1[s_name, s_nationkey, l_suppkey] ELSE 0;
  m_lineitem_orders_q21_exists_q21_exists_2_1[l_suppkey] += IF l_receiptdate > l_commitdate THEN -1 * m_orders_1[l_orderkey] * q21_exists[l_orderkey, l_suppkey] * q21_exists_2[l_orderkey, l_suppkey] ELSE 0;
  m_lineitem_q21_exists_q21_exists_2_supplier_1[l_orderkey, s_name, s_nationkey] += IF l_receiptdate > l_commitdate THEN -1 * q21_exists[l_orderkey, l_suppkey] * q21_exists_2[l_orderkey, l_suppkey] * m_supplier_1[s_name, s_nationkey, l_suppkey] ELSE 0;
  m_lineitem_orders_q21_exists_1[l_suppkey] += IF l_receiptdate > l_commitdate THEN -1 * m_orders_1[l_orderkey] * q21_exists[l_orderkey, l_suppkey] ELSE 0;
  m_lineitem_q21_exists_supplier_1[l_orderkey, s_name, s_nationkey] += IF l_receiptdate > l_commitdate THEN -1 * q21_exists[l_orderkey, l_suppkey] * m_supplier_1[s_name, s_nationkey, l_suppkey] ELSE 0;
  m_lineitem_q21_exists_q21_exists_2_1[l_orderkey, l_suppkey] += IF l_receiptdate > l_commitdate THEN -1 * q21_exists[l_orderkey, l_suppkey] * q21_exists_2[l_orderkey, l_suppkey] ELSE 0;
  q21_exists_n[l_orderkey, l_suppkey_1] += IF l_suppkey <> l_suppkey_1 THEN -1 * q21_domain[l_orderkey, l_suppkey_1] ELSE 0;
  q21_exists_2_n[l_orderkey, l_suppkey_1] += IF l_receiptdate > l_commitdate AND l_suppkey <> l_suppkey_1 THEN -1 * q21_domain[l_orderkey, l_suppkey_1] ELSE 0;
  m_lineitem_q21_exists_1[l_orderkey, l_suppkey] += IF l_receiptdate > l_commitdate THEN -1 * q21_exists[l_orderkey, l_suppkey] ELSE 0;
  q21_domain_n[l_orderkey, l_suppkey] += IF l_receiptdate > l_commitdate THEN -1 ELSE 0;
  m_lineitem_1[l_orderkey, l_suppkey] += -1;
}

ON CHANGE q21_domain(l_orderkey, l_suppkey) DO {
  q21_exists_n[l_orderkey, l_suppkey] += IF l_suppkey_2 <> l_suppkey THEN m_lineitem_1[l_orderkey, l_suppkey_2] ELSE 0;
  q21_exists_2_n[l_orderkey, l_suppkey] += IF l_suppkey_2 <> l_suppkey THEN q21_domain_n[l_orderkey, l_suppkey_2] ELSE 0;
}

ON CHANGE q21_exists(l_orderkey, l_suppkey) DO {
  q21_rows_n[s_name] += q21_domain_n[l_orderkey, l_suppkey] * m_orders_1[l_orderkey] * m_supplier_1[s_name, s_nationkey, l_suppkey] * m_nation_1[s_nationkey];
  q21_rows_n[s_name] += -1 * q21_domain_n[l_orderkey, l_suppkey] * m_orders_1[l_orderkey] * q21_exists_2[l_orderkey, l_suppkey] * m_supplier_1[s_name, s_nationkey, l_suppkey] * m_nation_1[s_nationkey];
  m_lineitem_nation_q21_exists_q21_exists_2_supplier_1[l_orderkey, s_name] += q21_domain_n[l_orderkey, l_suppkey] * q21_exists_2[l_orderkey, l_suppkey] * m_supplier_1[s_name, s_nationkey, l_suppkey] * m_nation_1[s_nationkey];
  m_lineitem_orders_q21_exists_q21_exists_2_supplier_1[s_name, s_nationkey] += q21_domain_n[l_orderkey, l_suppkey] * m_orders_1[l_orderkey] * q21_exists_2[l_orderkey, l_suppkey] * m_supplier_1[s_name, s_nationkey, l_suppkey];
  m_lineitem_nation_q21_exists_supplier_1[l_orderkey, s_name] += q21_domain_n[l_orderkey, l_suppkey] * m_supplier_1[s_name, s_nationkey, l_suppkey] * m_nation_1[s_nationkey];
  m_lineitem_orders_q21_exists_supplier_1[s_name, s_nationkey] += q21_domain_n[l_orderkey, l_suppkey] * m_orders_1[l_orderkey] * m_supplier_1[s_name, s_nationkey, l_suppkey];
  m_lineitem_orders_q21_exists_q21_exists_2_1[l_suppkey] += q21_domain_n[l_orderkey, l_suppkey] * m_orders_1[l_orderkey] * q21_exists_2[l_orderkey, l_suppkey];
  m_lineitem_q21_exists_q21_exists_2_supplier_1[l_orderkey, s_name, s_nationkey] += q21_domain_n[l_orderkey, l_suppkey] * q21_exists_2[l_orderkey, l_suppkey] * m_supplier_1[s_name, s_nationkey, l_suppkey];
  m_lineitem_orders_q21_exists_1[l_suppkey] += q21_domain_n[l_orderkey, l_suppkey] * m_orders_1[l_orderkey];
  m_lineitem_q21_exists_supplier_1[l_orderkey, s_name, s_nationkey] += q21_domain_n[l_orderkey, l_suppkey] * m_supplier_1[s_name, s_nationkey, l_suppkey];
  m_lineitem_q21_exists_q21_exists_2_1[l_orderkey, l_suppkey] += q21_domain_n[l_orderkey, l_suppkey] * q21_exists_2[l_orderkey, l_suppkey];
  m_lineitem_q21_exists_1[l_orderkey, l_suppkey] += q21_domain_n[l_orderkey, l_suppkey];
}

ON CHANGE q21_exists_2(l_orderkey, l_suppkey) DO {
  q21_rows_n[s_name] += -1 * q21_domain_n[l_orderkey, l_suppkey] * m_orders_1[l_orderkey] * q21_exists[l_orderkey, l_suppkey] * m_supplier_1[s_name, s_nationkey, l_suppkey] * m_nation_1[s_nationkey];
  m_lineitem_nation_q21_exists_q21_exists_2_supplier_1[l_orderkey, s_name] += q21_domain_n[l_orderkey, l_suppkey] * q21_exists[l_orderkey, l_suppkey] * m_supplier_1[s_name, s_nationkey, l_suppkey] * m_nation_1[s_nationkey];
  m_lineitem_orders_q21_exists_q21_exists_2_supplier_1[s_name, s_nationkey] += q21_domain_n[l_orderkey, l_suppkey] * m_orders_1[l_orderkey] * q21_exists[l_orderkey, l_suppkey] * m_supplier_1[s_name, s_nationkey, l_suppkey];
  m_lineitem_orders_q21_exists_q21_exists_2_1[l_suppkey] += q21_domain_n[l_orderkey, l_suppkey] * m_orders_1[l_orderkey] * q21_exists[l_orderkey, l_suppkey];
  m_lineitem_q21_exists_q21_exists_2_supplier_1[l_orderkey, s_name, s_nationkey] += q21_domain_n[l_orderkey, l_suppkey] * q21_exists[l_orderkey, l_suppkey] * m_supplier_1[s_name, s_nationkey, l_suppkey];
  m_lineitem_q21_exists_q21_exists_2_1[l_orderkey, l_suppkey] += q21_domain_n[l_orderkey, l_suppkey] * q21_exists[l_orderkey, l_suppkey];
}

ON CHANGE q21_rows(s_name) DO {
  q21_count[s_name] += 1;
}
