PROGRAM q18 SEMANTICS SNAPSHOT;

RELATION region(r_regionkey INT, r_name STRING, r_comment STRING) KEY (r_regionkey);
RELATION nation(n_nationkey INT, n_name STRING, n_regionkey INT, n_comment STRING) KEY (n_nationkey);
RELATION supplier(s_suppkey INT, s_name STRING, s_address STRING, s_nationkey INT, s_phone STRING, s_acctbal DECIMAL(15, 2), s_comment STRING) KEY (s_suppkey);
RELATION customer(c_custkey INT, c_name STRING, c_address STRING, c_nationkey INT, c_phone STRING, c_acctbal DECIMAL(15, 2), c_mktsegment STRING, c_comment STRING) KEY (c_custkey);
RELATION part(p_partkey INT, p_name STRING, p_mfgr STRING, p_brand STRING, p_type STRING, p_size INT, p_container STRING, p_retailprice DECIMAL(15, 2), p_comment STRING) KEY (p_partkey);
RELATION partsupp(ps_partkey INT, ps_suppkey INT, ps_availqty INT, ps_supplycost DECIMAL(15, 2), ps_comment STRING) KEY (ps_partkey, ps_suppkey);
RELATION orders(o_orderkey INT, o_custkey INT, o_orderstatus STRING, o_totalprice DECIMAL(15, 2), o_orderdate DATE, o_orderpriority STRING, o_clerk STRING, o_shippriority INT, o_comment STRING) KEY (o_orderkey);
RELATION lineitem(l_orderkey INT, l_partkey INT, l_suppkey INT, l_linenumber INT, l_quantity DECIMAL(15, 2), l_extendedprice DECIMAL(15, 2), l_discount DECIMAL(15, 2), l_tax DECIMAL(15, 2), l_returnflag STRING, l_linestatus STRING, l_shipdate DATE, l_commitdate DATE, l_receiptdate DATE, l_shipinstruct STRING, l_shipmode STRING, l_comment STRING) KEY (l_orderkey, l_linenumber);

MAP q18_groups_count[l_orderkey INT] : INT
  MEANING 'SELECT lineitem.l_orderkey, COUNT(*) FROM lineitem GROUP BY lineitem.l_orderkey';
MAP q18_groups_sum[l_orderkey INT] : DECIMAL(25, 2)
  MEANING 'SELECT lineitem.l_orderkey, SUM(lineitem.l_quantity) FROM lineitem GROUP BY lineitem.l_orderkey';
MAP q18_in_n[l_orderkey INT] : INT
  MEANING 'SELECT q18_groups.l_orderkey, COUNT(*) FROM q18_groups WHERE (q18_groups.sum_2 > 300) :: BOOL NULL GROUP BY q18_groups.l_orderkey';
MAP q18_count[c_name STRING, c_custkey INT, o_orderkey INT, o_orderdate DATE, o_totalprice DECIMAL(15, 2)] : INT
  MEANING 'SELECT customer.c_name, customer.c_custkey, orders.o_orderkey, orders.o_orderdate, orders.o_totalprice, COUNT(*) FROM customer, orders, lineitem, q18_in WHERE customer.c_custkey = orders.o_custkey AND orders.o_orderkey = lineitem.l_orderkey AND orders.o_orderkey = q18_in.l_orderkey GROUP BY customer.c_name, customer.c_custkey, orders.o_orderkey, orders.o_orderdate, orders.o_totalprice';
MAP q18_total_quantity[c_name STRING, c_custkey INT, o_orderkey INT, o_orderdate DATE, o_totalprice DECIMAL(15, 2)] : DECIMAL(25, 2)
  MEANING 'SELECT customer.c_name, customer.c_custkey, orders.o_orderkey, orders.o_orderdate, orders.o_totalprice, SUM(lineitem.l_quantity) FROM customer, orders, lineitem, q18_in WHERE customer.c_custkey = orders.o_custkey AND orders.o_orderkey = lineitem.l_orderkey AND orders.o_orderkey = q18_in.l_orderkey GROUP BY customer.c_name, customer.c_custkey, orders.o_orderkey, orders.o_orderdate, orders.o_totalprice';
MAP m_lineitem_orders_q18_in_1[o_orderkey INT, c_custkey INT, o_orderdate DATE, o_totalprice DECIMAL(15, 2)] : INT
  MEANING 'SELECT orders.o_orderkey, orders.o_custkey, orders.o_orderdate, orders.o_totalprice, COUNT(*) FROM orders, lineitem, q18_in WHERE orders.o_orderkey = lineitem.l_orderkey AND orders.o_orderkey = q18_in.l_orderkey GROUP BY orders.o_orderkey, orders.o_custkey, orders.o_orderdate, orders.o_totalprice';
MAP m_customer_1[c_custkey INT, c_name STRING] : INT
  MEANING 'SELECT customer.c_custkey, customer.c_name, COUNT(*) FROM customer GROUP BY customer.c_custkey, customer.c_name';
MAP m_orders_1[c_custkey INT, o_orderdate DATE, o_orderkey INT, o_totalprice DECIMAL(15, 2)] : INT
  MEANING 'SELECT orders.o_custkey, orders.o_orderdate, orders.o_orderkey, orders.o_totalprice, COUNT(*) FROM orders GROUP BY orders.o_custkey, orders.o_orderdate, orders.o_orderkey, orders.o_totalprice';
MAP m_lineitem_orders_q18_in_2[o_orderkey INT, c_custkey INT, o_orderdate DATE, o_totalprice DECIMAL(15, 2)] : DECIMAL(25, 2)
  MEANING 'SELECT orders.o_orderkey, orders.o_custkey, orders.o_orderdate, orders.o_totalprice, SUM(lineitem.l_quantity) FROM orders, lineitem, q18_in WHERE orders.o_orderkey = lineitem.l_orderkey AND orders.o_orderkey = q18_in.l_orderkey GROUP BY orders.o_orderkey, orders.o_custkey, orders.o_orderdate, orders.o_totalprice';
MAP q18_groups[l_orderkey INT, sum_2 DECIMAL(25, 2)] : INT
  MEANING 'one row per (l_orderkey)';
MAP q18_in[l_orderkey INT] : INT
  MEANING 'one row per (l_orderkey)';

DERIVE q18_groups[l_orderkey]
  FROM count = q18_groups_count, sum = q18_groups_sum
  SELECT sum_2 = sum
  COUNT CASE WHEN count > 0 THEN 1 ELSE 0 END;
DERIVE q18_in[l_orderkey]
  FROM n = q18_in_n
  COUNT CASE WHEN n > 0 THEN 1 ELSE 0 END;

VIEW q18[c_name STRING, c_custkey INT, o_orderkey INT, o_orderdate DATE, o_totalprice DECIMAL(15, 2)]
  VALUES total_quantity = q18_total_quantity
  EXISTS q18_count
  COLUMNS c_name = c_name,
    c_custkey = c_custkey,
    o_orderkey = o_orderkey,
    o_orderdate = o_orderdate,
    o_totalprice = o_totalprice,
    total_quantity = total_quantity
  ORDER BY 5 DESC, 4
  LIMIT 100
  SQL '-- TPC-H Q18, large volume customer; validation parameter QUANTITY = 300.
select
    c_name,
    c_custkey,
    o_orderkey,
    o_orderdate,
    o_totalprice,
    sum(l_quantity) as total_quantity
from
    customer,
    orders,
    lineitem
where
    o_orderkey in (
        select
            l_orderkey
        from
            lineitem
        group by
            l_orderkey
        having
            sum(l_quantity) > 300
    )
    and c_custkey = o_custkey
    and o_orderkey = l_orderkey
group by
    c_name,
    c_custkey,
    o_orderkey,
    o_orderdate,
    o_totalprice
order by
    o_totalprice desc,
    o_orderdate
limit 100
';

ON +customer(c_custkey, c_name, c_address, c_nationkey, c_phone, c_acctbal, c_mktsegment, c_comment) DO {
  q18_count[c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice] += m_lineitem_orders_q18_in_1[o_orderkey, c_custkey, o_orderdate, o_totalprice];
  q18_total_quantity[c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice] += m_lineitem_orders_q18_in_2[o_orderkey, c_custkey, o_orderdate, o_totalprice];
  m_customer_1[c_custkey, c_name] += 1;
}

ON -customer(c_custkey, c_name, c_address, c_nationkey, c_phone, c_acctbal, c_mktsegment, c_comment) DO {
  q18_count[c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice] += -1 * m_lineitem_orders_q18_in_1[o_orderkey, c_custkey, o_orderdate, o_totalprice];
  q18_total_quantity[c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice] += -1 * m_lineitem_orders_q18_in_2[o_orderkey, c_custkey, o_orderdate, o_totalprice];
  m_customer_1[c_custkey, c_name] += -1;
}

ON +orders(o_orderkey, o_custkey, o_orderstatus, o_totalprice, o_orderdate, o_orderpriority, o_clerk, o_shippriority, o_comment) DO {
  q18_count[c_name, o_custkey, o_orderkey, o_orderdate, o_totalprice] += q18_groups_count[o_orderkey] * q18_in[o_orderkey] * m_customer_1[o_custkey, c_name];
  q18_total_quantity[c_name, o_custkey, o_orderkey, o_orderdate, o_totalprice] += q18_groups_sum[o_orderkey] * q18_in[o_orderkey] * m_customer_1[o_custkey, c_name];
  m_lineitem_orders_q18_in_1[o_orderkey, o_custkey, o_orderdate, o_totalprice] += q18_groups_count[o_orderkey] * q18_in[o_orderkey];
  m_lineitem_orders_q18_in_2[o_orderkey, o_custkey, o_orderdate, o_totalprice] += q18_groups_sum[o_orderkey] * q18_in[o_orderkey];
  m_orders_1[o_custkey, o_orderdate, o_orderkey, o_totalprice] += 1;
}

ON -orders(o_orderkey, o_custkey, o_orderstatus, o_totalprice, o_orderdate, o_orderpriority, o_clerk, o_shippriority, o_comment) DO {
  q18_count[c_name, o_custkey, o_orderkey, o_orderdate, o_totalprice] += -1 * q18_groups_count[o_orderkey] * q18_in[o_orderkey] * m_customer_1[o_custkey, c_name];
  q18_total_quantity[c_name, o_custkey, o_orderkey, o_orderdate, o_totalprice] += -1 * q18_groups_sum[o_orderkey] * q18_in[o_orderkey] * m_customer_1[o_custkey, c_name];
  m_lineitem_orders_q18_in_1[o_orderkey, o_custkey, o_orderdate, o_totalprice] += -1 * q18_groups_count[o_orderkey] * q18_in[o_orderkey];
  m_lineitem_orders_q18_in_2[o_orderkey, o_custkey, o_orderdate, o_totalprice] += -1 * q18_groups_sum[o_orderkey] * q18_in[o_orderkey];
  m_orders_1[o_custkey, o_orderdate, o_orderkey, o_totalprice] += -1;
}

ON +lineitem(l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment) DO {
  q18_count[c_name, c_custkey, l_orderkey, o_orderdate, o_totalprice] += q18_in[l_orderkey] * m_orders_1[c_custkey, o_orderdate, l_orderkey, o_totalprice] * m_customer_1[c_custkey, c_name];
  q18_total_quantity[c_name, c_custkey, l_orderkey, o_orderdate, o_totalprice] += l_quantity * q18_in[l_orderkey] * m_orders_1[c_custkey, o_orderdate, l_orderkey, o_totalprice] * m_customer_1[c_custkey, c_name];
  m_lineitem_orders_q18_in_1[l_orderkey, c_custkey, o_orderdate, o_totalprice] += q18_in[l_orderkey] * m_orders_1[c_custkey, o_orderdate, l_orderkey, o_totalprice];
  m_lineitem_orders_q18_in_2[l_orderkey, c_custkey, o_orderdate, o_totalprice] += l_quantity * q18_in[l_orderkey] * m_orders_1[c_custkey, o_orderdate, l_orderkey, o_totalprice];
  q18_groups_count[l_orderkey] += 1;
  q18_groups_sum[l_orderkey] += l_quantity;
}

ON -lineitem(l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment) DO {
  q18_count[c_name, c_custkey, l_orderkey, o_orderdate, o_totalprice] += -1 * q18_in[l_orderkey] * m_orders_1[c_custkey, o_orderdate, l_orderkey, o_totalprice] * m_customer_1[c_custkey, c_name];
  q18_total_quantity[c_name, c_custkey, l_orderkey, o_orderdate, o_totalprice] += -1 * l_quantity * q18_in[l_orderkey] * m_orders_1[c_custkey, o_orderdate, l_orderkey, o_totalprice] * m_customer_1[c_custkey, c_name];
  m_lineitem_orders_q18_in_1[l_orderkey, c_custkey, o_orderdate, o_totalprice] += -1 * q18_in[l_orderkey] * m_orders_1[c_custkey, o_orderdate, l_orderkey, o_totalprice];
  m_lineitem_orders_q18_in_2[l_orderkey, c_custkey, o_orderdate, o_totalprice] += -1 * l_quantity * q18_in[l_orderkey] * m_orders_1[c_custkey, o_orderdate, l_orderkey, o_totalprice];
  q18_groups_count[l_orderkey] += -1;
  q18_groups_sum[l_orderkey] += -1 * l_quantity;
}

ON CHANGE q18_groups(l_orderkey, sum_2) DO {
  q18_in_n[l_orderkey] += IF (sum_2 > 300) :: BOOL NULL THEN 1 ELSE 0;
}

ON CHANGE q18_in(l_orderkey) DO {
  q18_count[c_name, c_custkey, l_orderkey, o_orderdate, o_totalprice] += q18_groups_count[l_orderkey] * m_orders_1[c_custkey, o_orderdate, l_orderkey, o_totalprice] * m_customer_1[c_custkey, c_name];
  q18_total_quantity[c_name, c_custkey, l_orderkey, o_orderdate, o_totalprice] += q18_groups_sum[l_orderkey] * m_orders_1[c_custkey, o_orderdate, l_orderkey, o_totalprice] * m_customer_1[c_custkey, c_name];
  m_lineitem_orders_q18_in_1[l_orderkey, c_custkey, o_orderdate, o_totalprice] += q18_groups_count[l_orderkey] * m_orders_1[c_custkey, o_orderdate, l_orderkey, o_totalprice];
  m_lineitem_orders_q18_in_2[l_orderkey, c_custkey, o_orderdate, o_totalprice] += q18_groups_sum[l_orderkey] * m_orders_1[c_custkey, o_orderdate, l_orderkey, o_totalprice];
}
