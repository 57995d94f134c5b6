"""Clauses that dialects add, and odd places for common ones, as in :mod:`tests.unit.m3.sql_suite`."""

from __future__ import annotations

P, S, D = "postgres", "spark", "duckdb"

CLAUSES: dict[str, tuple[str, ...]] = {
    "star_exclude": (D, "select * exclude (ename, salary) from employees"),
    "star_exclude_of_a_table": (D, "select d.dname, e.* exclude (ename, dept_id) from employees e join departments d using (dept_id)"),
    "star_replace": (D, "select * replace (salary * 2 as salary, upper(ename) as ename) from employees"),
    "star_exclude_and_replace": (D, "select * exclude (hired) replace (emp_id + 1 as emp_id) from employees"),
    "star_rename": (D, "select * rename (ename as name) from employees where salary > 10"),
    "star_exclude_of_a_join": (D, "select * exclude (dept_id) from employees e join departments d using (dept_id)"),
    "order_by_all": (D, "select dept_id, emp_id from employees order by all"),
    "order_by_all_descending": (D, "select dept_id, salary, emp_id from employees order by all desc nulls last limit 5"),
    "order_by_all_of_a_union": (D, "select dept_id from employees union select dept_id from departments order by all"),
    "group_by_all": (D, "select dept_id, active, count(*) as n from employees group by all"),
    "group_by_distinct": (
        P,
        "select dept_id, active, count(*) as n from employees group by distinct rollup(dept_id, active), rollup(dept_id)",
        "select dept_id, active, count(*) as n from employees group by grouping sets ((dept_id, active), (dept_id), ())",
    ),
    "limit_of_constants": (D, "select emp_id from employees order by emp_id limit (1 + 2) offset 2 - 1"),
    "limit_of_a_constant_subquery": (
        D,
        "select emp_id from employees order by emp_id limit (select 3)",
        "select emp_id from employees order by emp_id limit 3",
    ),
    "limit_null": (P, "select emp_id from employees order by emp_id limit null offset 1"),
    "limit_all": (
        P,
        "select emp_id from (select emp_id from employees order by emp_id limit all offset 2) as x",
        "select emp_id from (select emp_id from employees order by emp_id offset 2) as x",
    ),
    "fetch_first_row": (
        P,
        "select emp_id from employees order by emp_id fetch first row only",
        "select emp_id from employees order by emp_id limit 1",
    ),
    "limit_around_parentheses": (
        P,
        "select emp_id from employees where emp_id in ((select emp_id from employees order by emp_id) limit 2)",
        "select emp_id from employees where emp_id in (select emp_id from employees order by emp_id limit 2)",
    ),
    "joined_tables_with_an_alias": (
        D,
        "select x, y, title from (employees e join departments d using (dept_id)) as j(x, y) join projects p on p.dept_id = j.x",
        "select x, y, title from (select * from employees e join departments d using (dept_id)) as j(x, y) join projects p on p.dept_id = j.x",
    ),
    "using_columns_of_a_star": (D, "select * from employees e left join departments d using (dept_id)"),
    "derived_table_joined_in_parentheses": (
        P,
        "select count(*) as n from ((select dept_id from employees) as x join departments d on x.dept_id = d.dept_id)",
    ),
    "nested_grouping_sets": (
        P,
        "select dept_id, active, count(*) as n from employees group by grouping sets ((dept_id), grouping sets ((active), rollup(dept_id, active)))",
        "select dept_id, active, count(*) as n from employees group by grouping sets ((dept_id), (active), (dept_id, active), (dept_id), ())",
    ),
    "aggregates_that_an_order_does_not_change": (
        P,
        "select dept_id, sum(salary order by emp_id) as a, max(ename order by salary desc) as b, count(distinct active order by active) as c from employees group by dept_id",
        "select dept_id, sum(salary) as a, max(ename) as b, count(distinct active) as c from employees group by dept_id",
    ),
    "values_of_columns": (P, "select e.emp_id, x.v from employees e, lateral (values (e.dept_id), (e.manager_id), (null)) as x(v)"),
    "greatest_by_values": (P, "select emp_id, (select max(v) from (values (dept_id), (manager_id)) as t(v)) as m from employees"),
    "star_of_a_table_around": (P, "select q.* from departments d, lateral (select d.*) as q", "select * from departments"),
    "using_column_grouped_by_its_side": (
        P,
        "select dept_id, count(*) as n from employees e left join departments d using (dept_id) group by e.dept_id having dept_id > 1",
        "select e.dept_id, count(*) as n from employees e left join departments d using (dept_id) group by e.dept_id having e.dept_id > 1",
    ),
    "using_column_of_the_right_side": (
        P,
        "select dept_id, count(e.emp_id) as n from employees e right join departments d using (dept_id) left join projects p using (dept_id) group by d.dept_id",
        "select d.dept_id, count(e.emp_id) as n from employees e right join departments d using (dept_id) left join projects p on p.dept_id = d.dept_id group by d.dept_id",
    ),
    "subquery_that_nobody_reads": (
        P,
        "select emp_id from (select emp_id, (select ename from employees m where m.dept_id = e.dept_id) as several from employees e) as x",
        "select emp_id from employees",
    ),
    "star_beside_a_using_column": (
        P,
        "select * from employees e join departments d using (dept_id) left join projects p on p.dept_id = d.dept_id",
        "select e.dept_id, e.* exclude (dept_id), d.* exclude (dept_id), p.* from employees e join departments d using (dept_id) left join projects p on p.dept_id = d.dept_id",
    ),
    "grouping_sets_behind_the_columns": (
        S,
        "select dept_id, active, grouping_id() as g, count(*) as n from employees group by dept_id, 2 grouping sets ((2), (1), (dept_id, active))",
        "select dept_id, active, grouping(dept_id, active) as g, count(*) as n from employees group by grouping sets ((active), (dept_id), (dept_id, active))",
    ),
    "a_column_of_no_grouping_set": (
        S,
        "select dept_id, active, count(*) as n, grouping_id() as g from employees group by dept_id, active grouping sets (dept_id)",
        "select dept_id, null as active, count(*) as n, 1 as g from employees group by dept_id",
    ),
    "on_null": (P, "select e.emp_id, d.dname from employees e left join departments d on null"),
    "where_null": (P, "select emp_id from employees where null union all select dept_id from departments"),
    "derived_table_without_lateral": (
        P,
        "select emp_id, (select y.r from (select e.dept_id as emp_id) x, (select emp_id as r) y) as q from employees e",
        "select emp_id, emp_id as q from employees",
    ),
    "having_a_number": (D, "select dept_id from employees group by dept_id having count(salary)"),
    "where_a_number": (D, "select emp_id from employees where emp_id - 3"),
    "rows_by_name": (
        P,
        "select emp_id from employees where row(dept_id, active) = row(1, true) or row(emp_id, dept_id) < row(3, 2)",
    ),
    "frame_of_constants": (
        D,
        "select emp_id, sum(salary) over (order by emp_id rows between 1 + 1 preceding and 2 - 1 following) as s from employees",
    ),
    "windows_that_do_not_group": (
        P,
        "select emp_id, any_value(emp_id) over (partition by dept_id order by emp_id) as a, sum(salary) filter (where active) over (order by emp_id) as b from employees",
    ),
    "interval_by_cast": (
        S,
        "select emp_id, hired + cast('30' as interval day) as later from employees",
        "select emp_id, cast(hired + interval 30 day as date) as later from employees",
    ),
}  # fmt: skip
