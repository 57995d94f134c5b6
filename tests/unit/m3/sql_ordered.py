"""Aggregates by an order that people write, as in :mod:`tests.unit.m3.sql_suite`."""

from __future__ import annotations

P, S, D = "postgres", "spark", "duckdb"


ORDERED: dict[str, tuple[str, ...]] = {
    "arg_max_and_min": (
        D,
        "select dept_id, arg_max(emp_id, salary * 1000 + emp_id) as a, arg_min(ename, hired) is not null as b, max_by(emp_id, emp_id) as c from employees group by dept_id",
    ),
    "max_by_keeps_nulls": (
        S,
        "select dept_id, max_by(salary, emp_id) as a, min_by(manager_id, emp_id) as b from employees group by dept_id",
        "select dept_id, arg_max_null(salary, emp_id) as a, arg_min_null(manager_id, emp_id) as b from employees group by dept_id",
    ),
    "arg_max_total": (D, "select arg_max(emp_id, emp_id) as a, arg_min(salary, emp_id) as b from employees"),
    "arg_max_of_ties": (
        D,
        "select store_id, arg_max(product_id, price) as a, arg_min(product_id, day) filter (where qty > 1) as b from sales group by store_id",
        "select store_id, (select min(product_id) from sales t where t.store_id is not distinct from s.store_id and price = (select max(price) from sales u where u.store_id is not distinct from s.store_id and product_id is not null)) as a, (select min(product_id) from sales t where t.store_id is not distinct from s.store_id and qty > 1 and day = (select min(day) from sales u where u.store_id is not distinct from s.store_id and qty > 1 and product_id is not null)) as b from sales s group by store_id",
    ),
    "arg_max_over_join": (
        D,
        "select d.city, arg_max(e.ename, e.emp_id) as last, count(*) as n from departments d join employees e on e.dept_id = d.dept_id group by d.city",
    ),
    "conditions_by_other_names": (
        S,
        "select dept_id, every(active) as a, some(active) filter (where salary > 10) as b, any(salary > 12) as c, bool_or(active and salary > 0) as d from employees group by dept_id",
        "select dept_id, bool_and(active) as a, bool_or(active) filter (where salary > 10) as b, bool_or(salary > 12) as c, bool_or(active and salary > 0) as d from employees group by dept_id",
    ),
    "every": (
        P,
        "select dept_id, every(salary > 0) as a, every(active) filter (where hired > date '2024-01-20') as b from employees group by dept_id",
        "select dept_id, bool_and(salary > 0) as a, bool_and(active) filter (where hired > date '2024-01-20') as b from employees group by dept_id",
    ),
    "medians": (
        P,
        "select dept_id, percentile_cont(0.5) within group (order by salary) as a, percentile_cont(0.3) within group (order by emp_id desc) as b, percentile_disc(0.5) within group (order by salary) as c, percentile_disc(0.25) within group (order by ename desc) as d from employees group by dept_id",
        "select dept_id, quantile_cont(salary::double, 0.5) as a, quantile_cont(emp_id::double, 0.7) as b, quantile_disc(salary, 0.5) as c, percentile_disc(0.25) within group (order by ename desc) as d from employees group by dept_id",
    ),
    "median_total": (
        S,
        "select median(price) as a, percentile(qty, 0.9) as b from sales",
        "select median(price::double) as a, quantile_cont(qty::double, 0.9) as b from sales",
    ),
    "median_of_doubles": (
        D,
        "select store_id, median(price::double) as a, quantile_disc(price::double, 0.9) as b, median(qty) filter (where price > 0) as c from sales group by store_id",
    ),
    "mode": (
        P,
        "select store_id, mode() within group (order by qty) as a, mode() within group (order by product_id desc) as b from sales group by store_id",
        "select store_id, (select qty from sales t where t.store_id is not distinct from s.store_id and qty is not null group by qty order by count(*) desc, qty limit 1) as a, (select product_id from sales t where t.store_id is not distinct from s.store_id and product_id is not null group by product_id order by count(*) desc, product_id desc limit 1) as b from sales s group by store_id",
    ),
    "string_agg": (
        P,
        "select dept_id, string_agg(ename, ', ' order by emp_id desc) as a, string_agg(distinct ename, '' order by ename) as b, string_agg(ename, '/' order by salary nulls first, hired desc nulls last, emp_id) filter (where active) as c from employees group by dept_id",
    ),
    "string_agg_of_numbers": (
        D,
        "select role, string_agg(hours, '+' order by hours desc) as a, listagg(emp_id, '-' order by emp_id) as b from assignments group by role",
    ),
    "listagg": (
        S,
        "select city, listagg(dname, ';') within group (order by dept_id) as a from departments group by city",
        "select city, string_agg(dname, ';' order by dept_id) as a from departments group by city",
    ),
    "first_and_last_by_order": (
        D,
        "select dept_id, first(salary order by emp_id) as a, last(salary order by emp_id) as b, first(emp_id order by salary desc nulls last, hired nulls first, emp_id) as c, last(emp_id order by hired desc nulls first, emp_id desc) as d from employees group by dept_id",
    ),
    "first_value_total": (
        D,
        "select first(ename order by salary nulls last, emp_id) filter (where active) as a, last(emp_id order by ename nulls first, emp_id) as b from employees",
    ),
    "any_first": (
        S,
        "select dept_id, first(dept_id) as a, last(dept_id) as b, any_value(dept_id) as c from employees group by dept_id",
    ),
    "bits": (
        P,
        "select store_id, bit_and(qty) as a, bit_or(product_id) as b, bit_xor(qty) as c from sales group by store_id",
    ),
    "having_a_median": (
        D,
        "select dept_id, max(salary) as m from employees group by dept_id having median(salary) > 10 and arg_max(active, emp_id)",
    ),
    "aggregate_of_lists": (
        D,
        "select names, count(*) as n from (select dept_id, string_agg(ename, ',' order by ename) as names from employees group by dept_id) q group by names",
    ),
    "rollup_of_medians": (
        D,
        "select dept_id, active, median(emp_id) as m, arg_min(emp_id, emp_id) as f from employees group by rollup (dept_id, active)",
    ),
}
