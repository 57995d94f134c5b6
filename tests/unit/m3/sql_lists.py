"""Lists as columns of a view, as in :mod:`tests.unit.m3.sql_suite`. Those without an order are ordered by the values, NULL first."""

from __future__ import annotations

P, S, D, B, W = "postgres", "spark", "duckdb", "bigquery", "snowflake"
SORTED = "'asc', 'nulls first'"


LISTS: dict[str, tuple[str, ...]] = {
    "list_by_order": (
        P,
        "select dept_id, array_agg(ename order by emp_id desc) as a, array_agg(salary order by hired nulls first, emp_id) as b, count(*) as n, sum(salary) as t from employees group by dept_id",
    ),
    "list_by_itself": (
        D,
        "select dept_id, list(salary) as a, array_agg(ename order by ename desc) as b, list(hired order by hired) as c, list(active) as d from employees group by dept_id",
        f"select dept_id, list_sort(list(salary), {SORTED}) as a, array_agg(ename order by ename desc) as b, list(hired order by hired) as c, list_sort(list(active), {SORTED}) as d from employees group by dept_id",
    ),
    "list_of_ties": (
        P,
        "select store_id, array_agg(product_id order by day desc) as a, array_agg(price order by qty nulls last, day) filter (where qty > 1) as b from sales group by store_id",
        "select store_id, array_agg(product_id order by day desc, product_id nulls first) as a, array_agg(price order by qty nulls last, day, price nulls first) filter (where qty > 1) as b from sales group by store_id",
    ),
    "list_of_distinct": (
        P,
        "select store_id, array_agg(distinct qty) as a, array_agg(distinct price order by price desc nulls last) as b, array_agg(qty order by qty) as c, array_agg(distinct product_id) filter (where price > 10) as d from sales group by store_id",
        f"select store_id, list_sort(array_agg(distinct qty), {SORTED}) as a, list_sort(array_agg(distinct price), 'desc', 'nulls last') as b, array_agg(qty order by qty) as c, list_sort(array_agg(distinct product_id) filter (where price > 10), {SORTED}) as d from sales group by store_id",
    ),
    "collect_list": (
        S,
        "select dept_id, collect_list(salary) as a, collect_set(ename) as b, array_agg(manager_id) filter (where active) as c, collect_list(distinct hired) as d from employees group by dept_id",
        "select dept_id, coalesce(list_sort(list(salary) filter (where salary is not null)), []) as a, coalesce(list_sort(list(distinct ename) filter (where ename is not null)), []) as b, coalesce(list_sort(list(manager_id) filter (where manager_id is not null and active)), []) as c, coalesce(list_sort(list(distinct hired) filter (where hired is not null)), []) as d from employees group by dept_id",
    ),
    "list_without_nulls": (
        W,
        "select dept_id, array_agg(salary) within group (order by emp_id) as a, array_unique_agg(ename) as b, array_agg(distinct ename) within group (order by ename desc) as c from employees group by dept_id",
        "select dept_id, coalesce(list(salary order by emp_id) filter (where salary is not null), []) as a, coalesce(list_sort(list(distinct ename) filter (where ename is not null)), []) as b, coalesce(list_sort(list(distinct ename) filter (where ename is not null), 'desc'), []) as c from employees group by dept_id",
    ),
    "list_ignores_nulls": (
        B,
        "select dept_id, array_agg(salary ignore nulls order by emp_id) as a, array_agg(emp_id order by emp_id desc) as b, array_agg(distinct ename ignore nulls) as c from employees group by dept_id",
        "select dept_id, list(salary order by emp_id) filter (where salary is not null) as a, list(emp_id order by emp_id desc) as b, list_sort(list(distinct ename) filter (where ename is not null)) as c from employees group by dept_id",
    ),
    "list_of_the_first": (
        B,
        "select dept_id, array_agg(salary ignore nulls order by emp_id desc limit 2) as a, array_agg(distinct ename ignore nulls order by ename limit 1) as b, array_agg(emp_id order by emp_id desc limit 1)[offset(0)] as c, array_agg(emp_id limit 3) as d from employees group by dept_id",
        "select dept_id, list(salary order by emp_id desc) filter (where salary is not null)[1:2] as a, (list_sort(list(distinct ename) filter (where ename is not null)))[1:1] as b, max(emp_id) as c, list(emp_id order by emp_id)[1:3] as d from employees group by dept_id",
    ),
    "list_total": (
        P,
        "select array_agg(ename order by emp_id) as a, array_agg(salary) filter (where salary > 1000) as b, count(*) as n from employees",
    ),
    "list_total_alone": (P, "select array_agg(ename order by emp_id) as a from employees"),
    "list_total_empty": (
        S,
        "select collect_list(emp_id) as a, collect_list(salary) filter (where salary > 1000) as b from employees",
        "select coalesce(list_sort(list(emp_id)), []) as a, [] as b from employees having true",
    ),
    "list_or_empty": (
        P,
        "select dept_id, coalesce(array_agg(ename order by emp_id) filter (where active), '{}') as a, coalesce(array_agg(salary order by emp_id) filter (where salary > 10), array[]::numeric[]) as b from employees group by dept_id",
        "select dept_id, coalesce(array_agg(ename order by emp_id) filter (where active), []) as a, coalesce(array_agg(salary order by emp_id) filter (where salary > 10), []) as b from employees group by dept_id",
    ),
    "list_over_join": (
        D,
        "select d.city, list(e.ename order by e.emp_id, d.dept_id) as a, list(d.dname order by d.dept_id, e.emp_id) as b from departments d join employees e on e.dept_id = d.dept_id group by d.city",
    ),
    "list_over_left_join": (
        D,
        "select d.dname, list(e.emp_id order by e.emp_id) as a, list(e.emp_id order by e.emp_id) filter (where e.emp_id is not null) as b from departments d left join employees e on e.dept_id = d.dept_id group by d.dname",
    ),
    "list_beside_extremes": (
        P,
        "select dept_id, array_agg(ename order by emp_id) as a, max(salary) as m, count(distinct ename) as d, min(hired) as h, array_agg(salary order by salary) as b from employees group by dept_id having max(emp_id) > 2",
    ),
    "list_beside_median": (
        D,
        "select active, median(salary::double) as m, list(emp_id order by emp_id) as a from employees group by active",
    ),
    "list_having": (
        P,
        "select dept_id, array_agg(emp_id order by emp_id) as a from employees group by dept_id having count(*) > 1 and sum(salary) > 10",
    ),
    "list_without_its_key": (
        P,
        "select array_agg(emp_id order by emp_id) as a, max(salary) as m from employees group by dept_id, active",
    ),
    "list_of_expressions": (
        D,
        "select coalesce(dept_id, 0) as d, list(upper(ename) || emp_id order by emp_id) as a, list(salary * 2 order by emp_id) as b, list(case when active then emp_id end order by emp_id) as c from employees group by coalesce(dept_id, 0)",
    ),
    "list_ordered_view": (
        P,
        "select dept_id, array_agg(emp_id order by emp_id) as a, count(*) as n from employees group by dept_id order by count(*) desc, dept_id nulls last limit 2",
    ),
    "list_ordered_view_of_extremes": (
        P,
        "select array_agg(emp_id order by emp_id) as a, max(salary) as m from employees group by dept_id order by dept_id desc nulls last limit 3",
    ),
    "list_beside_windows": (
        P,
        "select dept_id, array_agg(emp_id order by emp_id) as a, rank() over (order by count(*) desc) as r from employees group by dept_id",
    ),
    "list_of_the_first_groups": (
        D,
        "select dept_id, list(emp_id order by emp_id) as a from employees group by dept_id qualify row_number() over (order by max(emp_id) desc) <= 2",
    ),
    "list_of_derived_rows": (
        D,
        "select n, list(dept_id order by dept_id) as a from (select dept_id, count(*) as n from employees group by dept_id) q group by n",
    ),
    "list_of_a_union": (
        P,
        "select k, array_agg(v order by v) as a from (select dept_id as k, ename as v from employees union all select dept_id, dname from departments) q group by k",
    ),
    "list_through_a_projection": (
        P,
        "select a, d + 1 as e from (select dept_id as d, array_agg(emp_id order by emp_id) as a, count(*) as n from employees group by dept_id) q where n > 1 and d < 4 order by d",
    ),
    "list_through_with": (
        P,
        "with q as (select dept_id, array_agg(emp_id order by emp_id) as a, max(salary) as m from employees group by dept_id), p(d, l, m) as (select * from q where m > 0) select l, m as top, d from p where d <> 2",
    ),
    "list_through_windows": (
        D,
        "select a, r from (select dept_id, list(emp_id order by emp_id) as a, row_number() over (order by max(emp_id) desc) as r from employees group by dept_id) q where r <= 2",
    ),
    "list_that_nobody_reads": (
        D,
        "select q.dept_id, q.n, d.city from (select dept_id, list(emp_id) as a, count(*) as n from employees group by dept_id) q join departments d on d.dept_id = q.dept_id",
    ),
    "list_beside_subqueries": (
        P,
        "select dept_id, array_agg(emp_id order by emp_id) as a, (select count(*) from departments) as n from employees where dept_id in (select dept_id from departments) group by dept_id",
    ),
    "list_of_text_in_one": (
        P,
        "select dept_id, array_to_string(array_agg(ename order by emp_id), ',') as a, array_to_string(array_agg(distinct ename order by ename desc), '-') as b, cardinality(array_agg(salary)) as n, array_length(array_agg(distinct salary), 1) as m, (array_agg(emp_id order by salary nulls last, emp_id))[1] as f from employees group by dept_id",
        "select dept_id, coalesce(array_to_string(list(ename order by emp_id), ','), '') as a, coalesce(array_to_string(list_sort(list(distinct ename), 'desc'), '-'), '') as b, len(list(salary)) as n, len(list(distinct salary)) as m, first(emp_id order by salary nulls last, emp_id) as f from employees group by dept_id",
    ),
    "list_of_filtered_text": (
        P,
        "select dept_id, array_to_string(array_agg(ename order by emp_id) filter (where active), ',') as a, cardinality(array_agg(salary) filter (where active)) as n from employees group by dept_id",
        "select dept_id, case when bool_or(active) then coalesce(array_to_string(list(ename order by emp_id) filter (where active), ','), '') end as a, len(list(salary) filter (where active)) as n from employees group by dept_id",
    ),
    "list_functions_of_spark": (
        S,
        "select dept_id, array_join(sort_array(collect_list(ename)), ',') as a, size(collect_list(salary)) as n, cardinality(collect_set(salary)) as m, sort_array(collect_set(ename), false) as b, array_distinct(collect_list(hired)) as c, element_at(collect_list(dept_id), 1) as f from employees group by dept_id",
        "select dept_id, coalesce(array_to_string(list_sort(list(ename)), ','), '') as a, count(salary) as n, count(distinct salary) as m, coalesce(list_sort(list(distinct ename) filter (where ename is not null), 'desc'), []) as b, coalesce(list_sort(list(distinct hired) filter (where hired is not null)), []) as c, dept_id as f from employees group by dept_id",
    ),
    "list_functions_of_duckdb": (
        D,
        "select dept_id, list_sort(list(ename)) as a, len(list(salary)) as n, list(emp_id order by emp_id)[1] as f, array_to_string(list(ename order by emp_id), ';') as t from employees group by dept_id",
        "select dept_id, list_sort(list(ename)) as a, len(list(salary)) as n, list(emp_id order by emp_id)[1] as f, array_to_string(list(ename order by emp_id), ';') as t from employees group by dept_id",
    ),
}
