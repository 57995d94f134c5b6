"""Windows of rows and of time, series, and joins by time, as in :mod:`tests.unit.m3.sql_suite`."""

from __future__ import annotations

P, S, D = "postgres", "spark", "duckdb"

TIMES: dict[str, tuple[str, ...]] = {
    "conditions_over_windows": (
        P,
        "select emp_id, bool_and(active) over (partition by dept_id order by emp_id) as a, every(salary > 10) over (partition by dept_id) as b, bool_or(active) filter (where salary > 10) over (partition by manager_id) as c from employees",
        "select emp_id, bool_and(active) over (partition by dept_id order by emp_id) as a, bool_and(salary > 10) over (partition by dept_id) as b, bool_or(active) filter (where salary > 10) over (partition by manager_id) as c from employees",
    ),
    "filters_over_windows": (
        P,
        "select emp_id, count(*) filter (where active) over (partition by dept_id order by emp_id) as a, sum(salary) filter (where active) over (partition by dept_id) as b, count(manager_id) filter (where salary > 10) over () as c, max(ename) filter (where not active) over (order by emp_id rows between 2 preceding and current row) as d from employees",
    ),
    "any_value_over": (
        D,
        "select emp_id, any_value(dept_id) over (partition by dept_id) as a, any_value(dept_id) filter (where active) over (partition by dept_id) as b from employees",
    ),
    "first_over": (
        S,
        "select emp_id, first(emp_id) over (partition by dept_id order by emp_id) as a, last(emp_id) over (partition by dept_id order by emp_id rows between current row and unbounded following) as b from employees",
    ),
    "range_of_days": (
        P,
        "select emp_id, count(*) over (order by hired range between interval '15 days' preceding and current row) as a, sum(salary) over (partition by dept_id order by hired desc range between interval '1 day' preceding and interval '31 days' following) as b from employees",
    ),
    "range_of_minutes": (
        D,
        "select device, at, count(level) filter (where state = 'on') over (partition by device order by at range between interval 10 minutes preceding and interval 23 hours following) as n, max(level) over (order by at range between unbounded preceding and interval '1' second preceding) as m from readings",
    ),
    "named_window_of_days": (
        P,
        "select emp_id, count(*) over w as a, avg(salary) over w as b from employees window w as (order by hired range between interval '1 day' preceding and interval '1 day' following)",
    ),
    "time_buckets": (
        D,
        "select time_bucket(interval '7 minutes', at) as b, count(*) as n, max(level) as m from readings group by time_bucket(interval '7 minutes', at)",
    ),
    "date_bin": (
        P,
        "select date_bin('5 hours', at, timestamp '2001-01-01 00:30:00') as b, count(*) as n from readings group by 1",
        "select time_bucket(interval '5 hours', \"at\", timestamp '2001-01-01 00:30:00') as b, count(*) as n from readings group by 1",
    ),
    "series_of_numbers": (
        P,
        "select g.n, count(e.emp_id) as c from generate_series(1, 7, 2) as g(n) left join employees e on e.dept_id = g.n group by g.n",
    ),
    "series_of_days": (
        P,
        "select d, (select count(*) from employees e where e.hired <= d) as n from generate_series(date '2023-12-31', date '2024-04-30', interval '1 month') as d",
        "select d, (select count(*) from employees e where e.hired <= d) as n from generate_series(date '2023-12-31', date '2024-04-30', interval '1 month') as s(d)",
    ),
    "series_downwards_and_empty": (
        D,
        "select n, emp_id from range(3, 0, -1) t(n) join employees on dept_id = n union all select i, 0 from generate_series(2, 1) x(i)",
    ),
    "series_in_the_list": (
        P,
        "select emp_id, generate_series(1, 3) as n from employees where active",
        "select emp_id, unnest(generate_series(1, 3)) as n from employees where active",
    ),
    "explode_sequence": (
        S,
        "select dept_id, n from departments lateral view explode(sequence(1, 3)) x as n where n <> dept_id",
        "select dept_id, n from departments, generate_series(1, 3) x(n) where n <> dept_id",
    ),
    "unnest_of_columns": (
        D,
        "select emp_id, x from employees, unnest([dept_id, manager_id]) as u(x)",
    ),
    "unnest_with_ordinality": (
        P,
        "select u.role, u.i, count(a.emp_id) as n from unnest(array['dev', 'lead', 'none']) with ordinality as u(role, i) left join assignments a on a.role = u.role group by u.role, u.i",
        "select u.role, u.i, count(a.emp_id) as n from (values ('dev', 1), ('lead', 2), ('none', 3)) as u(role, i) left join assignments a on a.role = u.role group by u.role, u.i",
    ),
    "tumble": (
        P,
        "select window_start, window_end, count(*) as n, sum(level) as s from tumble(readings, at, interval '6 hours') group by window_start, window_end",
        "select time_bucket(interval '6 hours', \"at\") as a, time_bucket(interval '6 hours', \"at\") + interval '6 hours' as b, count(*) as n, sum(level) as s from readings where \"at\" is not null group by a, b",
    ),
    "hop": (
        D,
        "select w.device, w.window_start, count(*) as n from hop(readings, at, interval '5 minutes', interval '12 minutes') as w group by w.device, w.window_start",
        "select device, s as window_start, count(*) as n from (select device, \"at\", time_bucket(interval '5 minutes', \"at\", timestamp '1970-01-01') - i * interval '5 minutes' as s from readings, range(3) t(i)) where \"at\" < s + interval '12 minutes' group by device, s",
    ),
    "tumble_of_a_query": (
        D,
        "select w.dept_id, w.window_end, count(*) as n from tumble((select dept_id, hired from employees where active), hired, interval '10 days') as w group by all",
        "select dept_id, time_bucket(interval '10 days', hired, date '1970-01-01') + interval '10 days' as e, count(*) as n from employees where active and hired is not null group by all",
    ),
    # DuckDB's ASOF joins find times that are NULL now and then, hence the subqueries
    "asof_join": (
        D,
        "select e.emp_id, p.started from employees e asof join (select dept_id, started from projects) p on e.dept_id = p.dept_id and e.hired >= p.started",
        "select emp_id, started from (select e.emp_id, (select max(p.started) from projects p where p.dept_id = e.dept_id and p.started <= e.hired) as started from employees e) q where started is not null",
    ),
    "asof_left_join": (
        D,
        "select e.emp_id, p.title, e.salary from employees e asof left join (select dept_id, started, min(title) as title from projects group by all) p on p.dept_id = e.dept_id and p.started < e.hired where e.active",
        "select e.emp_id, (select min(p.title) from projects p where p.dept_id = e.dept_id and p.started = (select max(r.started) from projects r where r.dept_id = e.dept_id and r.started < e.hired)) as title, e.salary from employees e where e.active",
    ),
    "asof_afterwards": (
        D,
        "select e.emp_id, e.hired, s.day, d.city from employees e join departments d on d.dept_id = e.dept_id asof join (select day from sales) s on e.hired <= s.day",
        "select * from (select e.emp_id, e.hired, (select min(s.day) from sales s where s.day >= e.hired) as found, d.city from employees e join departments d on d.dept_id = e.dept_id) q where found is not null",
    ),
    "asof_strictly_afterwards": (
        D,
        "select * from (select device, at from readings) r asof join (select device, at from readings where state = 'on') s on r.device = s.device and r.at < s.at",
        'select * from (select r.device, r."at", r.device as d, (select min(s."at") from readings s where s.device = r.device and s.state = \'on\' and s."at" > r."at") as found from readings r) q where found is not null',
    ),
}
