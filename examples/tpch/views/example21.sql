-- The query of the Cumulus paper's Example 2.1: discounted order volume per nation of the customer.
select
    c_nationkey,
    sum(o_totalprice * l_discount) as discounted
from
    customer,
    orders,
    lineitem
where
    c_custkey = o_custkey
    and o_orderkey = l_orderkey
group by
    c_nationkey
