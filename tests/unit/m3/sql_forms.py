"""Forms of queries: series and texts as rows, as in :mod:`tests.unit.m3.sql_suite`."""

from __future__ import annotations

P, S, D = "postgres", "spark", "duckdb"

FORMS: dict[str, tuple[str, ...]] = {
    "series_up_to_a_column": (P, "select emp_id, n from employees, generate_series(1, dept_id) as g(n)"),
    "series_between_columns": (
        P,
        "select emp_id, n from employees left join lateral generate_series(dept_id, manager_id) as g(n) on true",
    ),
    "series_by_a_step": (
        D,
        "select emp_id, unnest(generate_series(emp_id, dept_id, manager_id - 2)) as x from employees where manager_id <> 2",
    ),
    "range_of_columns": (D, "select emp_id, x from employees, range(dept_id, emp_id) as u(x)"),
    "series_of_days_of_columns": (
        P,
        "select emp_id, d::date as d from employees, generate_series(hired, date '2024-02-10', '10 day') as d",
        "select emp_id, d::date as d from employees, generate_series(hired, date '2024-02-10', interval '10 day') as g(d)",
    ),
    "series_of_months_of_columns": (
        P,
        "select emp_id, d from employees, generate_series(date_trunc('month', hired), date '2024-12-31', interval '1 month') as d",
        "select emp_id, d from employees, generate_series(date_trunc('month', hired), date '2024-12-31', interval '1 month') as g(d)",
    ),
    "series_between_subqueries": (
        P,
        "select d, count(e.emp_id) as n from generate_series((select min(hired) from employees), (select max(hired) from employees), interval '30 day') as d left join employees e on e.hired <= d group by d",
        "select d, count(e.emp_id) as n from (select unnest(generate_series(min(hired), max(hired), interval '30 day')) as d from employees) left join employees e on e.hired <= d group by d",
    ),
    "series_of_totals_in_the_list": (
        P,
        "select dept_id, generate_series(min(emp_id), max(emp_id)) + 1 as d from employees group by dept_id",
        "select dept_id, unnest(generate_series(min(emp_id), max(emp_id))) + 1 as d from employees group by dept_id",
    ),
    "series_in_exists": (
        P,
        "select e.emp_id from employees e where exists (select 1 from generate_series(e.dept_id, e.manager_id) as g(n) join departments d on d.dept_id = g.n)",
    ),
    "series_in_a_scalar_subquery": (
        P,
        "select e.emp_id, (select sum(n) from generate_series(1, e.dept_id) as g(n)) as s from employees e",
    ),
    "series_of_many_constants": (
        P,
        "select n from generate_series(1, 2500) as g(n) where n in (select emp_id * 500 from employees)",
    ),
    "split_in_from": (
        P,
        "select emp_id, x, o from employees, unnest(string_to_array(ename, 'n')) with ordinality as u(x, o)",
        "select emp_id, unnest(string_split(ename, 'n')) as x, generate_subscripts(string_split(ename, 'n'), 1) as o from employees",
    ),
    "split_in_the_list": (D, "select emp_id, unnest(string_split(ename, 'nn')) as x from employees"),
    "explode_of_a_split": (
        S,
        "select x, count(*) as n from employees lateral view explode(split(ename, 'n')) u as x group by x",
        "select x, count(*) as n from employees, unnest(string_split(ename, 'n')) as u(x) group by x",
    ),
    "posexplode_outer": (
        S,
        "select emp_id, p, x from employees lateral view outer posexplode(split(ename, 'n')) u as p, x",
        "select emp_id, p, x from employees left join lateral (select unnest(string_split(ename, 'n')) as x, generate_subscripts(string_split(ename, 'n'), 1) - 1 as p) on true",
    ),
    "explode_sequence_that_turns": (
        S,
        "select emp_id, x from employees lateral view explode(sequence(dept_id, manager_id)) u as x",
        "select emp_id, unnest(generate_series(dept_id, manager_id, case when dept_id <= manager_id then 1 else -1 end)) as x from employees",
    ),
    "explode_sequence_of_months": (
        S,
        "select emp_id, explode(sequence(hired, date '2024-05-30', interval 1 month)) as x from employees where hired < date '2024-05-30'",
        "select emp_id, unnest([hired + to_months(i::int) for i in range(0, 40) if hired + to_months(i::int) <= date '2024-05-30'])::date as x from employees where hired < date '2024-05-30'",
    ),
    "unnest_with_offset": (
        "bigquery",
        "select emp_id, x, o from employees, unnest(split(ename, 'n')) as x with offset as o",
        "select emp_id, unnest(string_split(ename, 'n')) as x, generate_subscripts(string_split(ename, 'n'), 1) - 1 as o from employees",
    ),
    "generate_date_array": (
        "bigquery",
        "select emp_id, x from employees, unnest(generate_date_array(hired, date '2024-02-01', interval 1 week)) as x",
        "select emp_id, unnest(generate_series(hired, date '2024-02-01', interval 7 day))::date as x from employees",
    ),
    "flatten": (
        "snowflake",
        "select e.emp_id, f.value, f.index, f.path from employees e, lateral flatten(input => split(e.ename, 'n')) f",
        "select emp_id, unnest(string_split(ename, 'n')) as x, generate_subscripts(string_split(ename, 'n'), 1) - 1 as i, '[' || i || ']' from employees",
    ),
    "string_split_applied": (
        "tsql",
        "select e.emp_id, u.value from employees e outer apply string_split(e.ename, 'n') as u",
        "select emp_id, x from employees left join unnest(string_split(ename, 'n')) as u(x) on true",
    ),
    "sequence_unnested": (
        "trino",
        "select emp_id, n from employees cross join unnest(sequence(1, dept_id)) as u(n)",
        "select emp_id, unnest(generate_series(1, dept_id)) as n from employees",
    ),
}
