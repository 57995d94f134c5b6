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
    "pivot": (
        D,
        "select * from (select dept_id, active, salary from employees) as x pivot (sum(salary) as s, count(*) as n for active in (true as yes, false as no)) as p where yes_n > 0",
    ),
    "pivot_that_counts_nothing": (
        S,
        "select * from (select dept_id, manager_id, salary from employees) pivot (sum(salary) as s, count(*) as n for manager_id in (1, 2 as two))",
        "select dept_id, sum(salary) filter (where manager_id = 1), nullif(count(*) filter (where manager_id = 1), 0), sum(salary) filter (where manager_id = 2), nullif(count(*) filter (where manager_id = 2), 0) from employees group by dept_id",
    ),
    "pivot_with_names": (
        "snowflake",
        "select * from (select dept_id, city, budget from departments) pivot (sum(budget) for city in ('Bonn', 'Rome')) as p(d, b, r)",
        "select dept_id, sum(budget) filter (where city = 'Bonn'), sum(budget) filter (where city = 'Rome') from departments group by 1",
    ),
    "pivot_of_names": (
        "tsql",
        "select p.[Bonn], dept_id from (select dept_id, city, budget from departments) as x pivot (sum(budget) for city in ([Bonn], [Rome])) as p",
        "select sum(budget) filter (where city = 'Bonn'), dept_id from departments group by 2",
    ),
    "pivot_statement": (D, "pivot sales on store_id in (1, 2), qty in (1) using sum(price) as q group by product_id"),
    "unpivot": (
        D,
        "select emp_id, k, v from (select emp_id, dept_id, manager_id from employees) unpivot include nulls (v for k in (dept_id, manager_id as boss))",
    ),
    "unpivot_statement": (
        D,
        "unpivot (select emp_id, dept_id, manager_id from employees) on dept_id, manager_id into name k value v",
    ),
    "in_values": (
        P,
        "select emp_id from employees where (dept_id, manager_id) in (values (1, 2), (2, 1), (3, 3)) or dept_id in (values (4))",
        "select emp_id from employees where (dept_id, manager_id) in ((1, 2), (2, 1), (3, 3)) or dept_id = 4",
    ),
    "any_and_all_of_arrays": (
        P,
        "select emp_id, dept_id < all(array[3, manager_id]) as x from employees where dept_id = any(array[1, 2, manager_id])",
        "select emp_id, dept_id < 3 and dept_id < manager_id as x from employees where dept_id in (1, 2, manager_id)",
    ),
    "distinct_rows_are_counted_with_nulls": (
        D,
        "select city, count(distinct (e.dept_id, salary, ename)) as n from employees e join departments using (dept_id) group by city",
    ),
    "ties": (
        P,
        "select dept_id as d, count(*) as n from employees group by dept_id order by n desc fetch first 1 rows with ties",
        "select d, n from (select dept_id as d, count(*) as n, rank() over (order by count(*) desc) as r from employees group by dept_id) where r <= 1 order by n desc",
    ),
    "ties_inside": (
        P,
        "select count(*) as n from (select salary from employees order by 1 desc nulls last fetch first 2 rows with ties) x",
        "select count(*) as n from (select rank() over (order by salary desc nulls last) as r from employees) where r <= 2",
    ),
    "union_by_name": (D, "select dept_id from departments union all by name select city, dept_id from departments"),
    "with_rollup": (
        "mysql",
        "select dept_id, manager_id, count(*) as n from employees group by dept_id, manager_id with rollup",
        "select dept_id, manager_id, count(*) as n from employees group by rollup (dept_id, manager_id)",
    ),
    "with_cube_and_its_number": (
        S,
        "select dept_id, active, grouping_id() as g, count(*) as n from employees group by dept_id, active with cube",
        "select dept_id, active, grouping_id(dept_id, active) as g, count(*) as n from employees group by cube (dept_id, active)",
    ),
    "grouping_sets_behind_their_columns": (
        S,
        "select dept_id, manager_id, count(*) as n from employees group by dept_id, manager_id grouping sets ((dept_id), (manager_id))",
        "select dept_id, manager_id, count(*) as n from employees group by grouping sets ((dept_id), (manager_id))",
    ),
    "names_of_the_list_in_the_list": (
        S,
        "select salary * 2 as b, b + 1 as c, c * b as d, salary as emp_id, emp_id + 1 as e from employees",
    ),
    "names_of_the_list_of_totals": (
        D,
        "select dept_id as d, count(*) as n, n + 1 as m, sum(m) over () as s from employees group by d having n > 1 qualify m > 2",
        "select d, n, m, s from (select dept_id as d, count(*) as n, count(*) + 1 as m, sum(count(*) + 1) over () as s from employees group by dept_id having count(*) > 1) where m > 2",
    ),
    "names_of_the_list_in_conditions": (
        "snowflake",
        "select emp_id, salary * 2 as b, row_number() over (partition by dept_id order by emp_id) as n from employees where b > 20 qualify n + 1 = 2",
        "select emp_id, b, n from (select emp_id, salary * 2 as b, row_number() over (partition by dept_id order by emp_id) as n from employees where salary * 2 > 20) where n = 1",
    ),
    "groups_of_spans": (
        "trino",
        "select device, tumble_start(at, interval '5' hour) as s, tumble_end(at, interval '5' hour) as e, count(*) as n from readings group by device, tumble(at, interval '5' hour)",
        "select device, time_bucket(interval '5 hours', \"at\", timestamp '1970-01-01') as s, s + interval '5 hours' as e, count(*) as n from readings where \"at\" is not null group by all",
    ),
    "groups_of_spans_that_overlap": (
        "trino",
        "select hop_start(r.at, interval '2' hour, interval '5' hour) as s, count(*) as n from readings as r where level > 0 group by hop(r.at, interval '2' hour, interval '5' hour)",
        "select s, count(*) as n from (select unnest(generate_series(time_bucket(interval '2 hours', \"at\", timestamp '1970-01-01') - interval '4 hours', \"at\", interval '2 hours')) as s, \"at\" as t from readings where level > 0) where t < s + interval '5 hours' group by s",
    ),
}
