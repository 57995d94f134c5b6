"""Queries that analysts write, as in :mod:`tests.unit.m3.sql_suite`: cohorts, top-N, islands, pivots, running totals."""

from __future__ import annotations

P, S, D = "postgres", "spark", "duckdb"

#: NAME = (dialect, text).
ANALYTICS = {
    "a_join_by_alternatives_as_two": (
        D,
        "select d.dept_id, e.emp_id from departments d join employees e on e.dept_id = d.dept_id union all select d.dept_id, e.emp_id from departments d join employees e on e.manager_id = d.dept_id and (e.dept_id = d.dept_id) is not true",
        "select d.dept_id, e.emp_id from departments d join employees e on e.dept_id = d.dept_id or e.manager_id = d.dept_id",
    ),
    "no_row_with_one_of_two_columns": (
        D,
        "select d.dept_id, d.city from departments d where not exists (select * from employees e where (e.dept_id = d.dept_id or e.manager_id = d.dept_id) and e.salary > 10)",
    ),
    "a_row_with_one_of_three_columns": (
        D,
        "select d.city, count(*) as n from departments d where exists (select 1 from employees e join projects p on p.dept_id = e.dept_id where e.dept_id = d.budget or (p.proj_id = d.dept_id and d.budget > 0) or e.manager_id + 1 = d.dept_id) or d.city = 'Rome' group by d.city",
    ),
    "alternatives_within_alternatives": (
        D,
        "select e.emp_id from employees e where (not exists (select * from assignments a where a.emp_id = e.emp_id or a.proj_id = e.dept_id) and e.active) or not exists (select * from projects p where p.dept_id = e.dept_id or p.dept_id = e.manager_id and exists (select 1 from stores s where s.store_id = p.proj_id or s.store_id = e.emp_id))",
    ),
    "sums_of_lines": (
        D,
        "select dept_id, sum(salary) as a, sum(salary + 1) as b, sum(0.5 - salary * 2) as c, avg(3 + salary) as d, sum(-salary) as e, sum(salary * 2 - 1) filter (where active) as f, sum(salary - 1) filter (where active) as g, sum(distinct salary + 1) as h from employees group by dept_id having sum(salary * 3) > 0 or sum(salary + 2) is null",
    ),
    "sums_of_lines_of_rows_without_a_match": (
        D,
        "select m, count(*) as n from (select d.dept_id, sum(e.emp_id + 1) + sum(e.emp_id) - sum(7 - e.emp_id) as m, max(budget) as b from departments d left join employees e on e.dept_id = d.dept_id and e.emp_id > d.budget / 10 group by d.dept_id) t group by m",
    ),
    "alternatives_over_five_tables": (
        D,
        "select count(*) as n, avg(s.qty) as a, sum(s.price) as b, avg(p.list_price) as c, sum(t.store_id) as d, sum(e.emp_id) as f, max(s.qty) - min(s.qty) as g, avg(e.salary) as h from sales s, products p, stores t, employees e, departments d where d.dept_id = s.store_id and p.product_id = s.product_id and t.store_id = s.store_id and ((e.emp_id = s.qty and (p.category <> 'toy' or t.city = 'Bonn') and e.emp_id < 4) or (e.emp_id = s.qty and p.list_price > 0 and t.city <> 'Rome' and d.dname < 'c') or (e.emp_id = s.qty and p.category < t.city and e.active))",
    ),
    "excluded_from_frames": (
        D,
        "select emp_id, sum(salary) over (order by dept_id, emp_id rows between 2 preceding and current row exclude current row) as a, count(*) over (order by dept_id range between unbounded preceding and current row exclude group) as b, count(salary) over (order by dept_id range between unbounded preceding and unbounded following exclude ties) as c, max(salary) over (order by dept_id groups between 1 preceding and 1 following exclude no others) as d from employees",
    ),
    "values_that_are_not_null": (
        D,
        "select emp_id, first_value(salary ignore nulls) over (order by emp_id) as a, last_value(dept_id ignore nulls) over (order by emp_id rows between 2 preceding and 1 following) as b, nth_value(salary, 2 ignore nulls) over (order by emp_id desc) as c, lag(salary ignore nulls) over (order by emp_id) as d, lead(dept_id, 2, -1 ignore nulls) over (order by emp_id) as e from employees",
    ),
    "nth_of_no_row_is_null": (
        D,
        "select emp_id, nth_value(salary, 0) over (order by emp_id) as a, nth_value(ename, -1 ignore nulls) over (order by emp_id) as b, nth_value(emp_id, emp_id - 2) over (order by emp_id rows between unbounded preceding and unbounded following) as c from employees",
    ),
    "partition_beside_a_named_window": (
        D,
        "select emp_id, sum(salary) over (w partition by dept_id) as a, count(*) over v as b from employees window w as (order by emp_id), v as (w partition by active)",
    ),
    "last_that_is_not_null": (
        S,
        "select emp_id, last(salary, true) over (order by emp_id) as a, first(dept_id) over (order by emp_id) as b from employees",
        "select emp_id, last_value(salary ignore nulls) over (order by emp_id) as a, first_value(dept_id) over (order by emp_id) as b from employees",
    ),
    "distinct_in_windows": (
        D,
        "select emp_id, count(distinct dept_id) over (partition by active) as a, max(distinct salary) over (order by emp_id) as b from employees",
    ),
    "statistics_of_pairs": (
        D,
        "select dept_id, covar_pop(salary, emp_id) as a, covar_samp(salary, manager_id) as b, case when var_pop(salary) > 0 and regr_sxx(salary, emp_id) > 0 and regr_syy(salary, emp_id) > 0 then corr(salary, emp_id) end as c, regr_count(salary, manager_id) as d, regr_avgx(salary, manager_id) as e, regr_avgy(salary, manager_id) as f, regr_sxx(salary, emp_id) as g, regr_syy(salary, emp_id) as h, regr_sxy(salary, emp_id) as i from employees group by dept_id",
    ),
    "undefined_statistics": (
        D,
        "select emp_id, corr(salary, dept_id) as a, regr_slope(salary, dept_id) as b, regr_r2(salary, dept_id) as c from employees group by emp_id",
    ),
    "distinct_conditions": (
        S,
        "select dept_id, count_if(distinct salary > 10) as a, count_if(salary > 10) as b from employees group by dept_id",
        "select dept_id, count(distinct case when salary > 10 then true end) as a, count(case when salary > 10 then 1 end) as b from employees group by dept_id",
    ),
    "any_value_of_an_order": (
        D,
        "select emp_id, any_value(salary) over (order by emp_id desc) as a, any_value(ename) over (partition by dept_id order by emp_id rows between 1 preceding and current row) as b from employees",
    ),
    "regressions": (
        D,
        "select active, case when regr_sxx(salary, emp_id) > 0 then regr_slope(salary, emp_id) end as a, regr_intercept(salary, emp_id) as b, regr_r2(salary, emp_id) as c, covar_pop(salary, emp_id) filter (where dept_id > 1) as d from employees group by active",
    ),
    "first_purchase_cohort": (
        P,
        "with first_day as (select store_id, min(day) as d from sales group by store_id) select date_trunc('month', f.d) as cohort, extract(month from s.day) - extract(month from f.d) as month_no, count(distinct s.store_id) as active from first_day f join sales s using (store_id) group by 1, 2",
    ),
    "retention_by_month": (
        S,
        "with active as (select distinct store_id, date_trunc('month', day) as m from sales where store_id is not null) select a.m, count(*) as n, count(b.store_id) as kept from active a left join active b on a.store_id = b.store_id and b.m = add_months(a.m, 1) group by a.m",
    ),
    "top_two_per_group": (
        P,
        "select * from (select dept_id, ename, salary, dense_rank() over (partition by dept_id order by salary desc nulls last) as place from employees) q where place <= 2",
    ),
    "top_by_qualify": (
        S,
        "select dept_id, emp_id, salary from employees qualify row_number() over (partition by dept_id order by salary desc, emp_id) = 1",
    ),
    "latest_row_distinct_on": (
        P,
        "select distinct on (dept_id) dept_id, emp_id, hired from employees order by dept_id, hired desc nulls last, emp_id",
    ),
    "latest_row_by_not_exists": (
        P,
        "select e.emp_id, e.hired from employees e where not exists (select 1 from employees f where f.dept_id = e.dept_id and (f.hired > e.hired or (f.hired = e.hired and f.emp_id > e.emp_id)))",
    ),
    "latest_row_by_in_pair": (
        P,
        "select emp_id from employees where (dept_id, hired) in (select dept_id, max(hired) from employees group by dept_id)",
    ),
    "running_total_by_day": (
        P,
        "select day, sum(total) over (order by day) as running from (select day, sum(qty * price) as total from sales group by day) d",
    ),
    "running_total_over_groups": (
        S,
        "select day, sum(qty) as q, sum(sum(qty)) over (order by day) as running from sales group by day",
    ),
    "percent_of_total": (
        P,
        "select store_id, round(100.0 * sum(qty) / nullif(sum(sum(qty)) over (), 0), 2) as pct from sales group by store_id",
    ),
    "percent_of_group": (
        S,
        "select emp_id, salary / nullif(sum(salary) over (partition by dept_id), 0) as share from employees",
    ),
    "year_over_year_lag": (
        P,
        "select m, t, t - lag(t) over (order by m) as change from (select extract(month from day) as m, sum(qty) as t from sales group by extract(month from day)) x",
    ),
    "islands_of_levels": (
        P,
        "select dept_id, min(emp_id) as a, max(emp_id) as b, count(*) as n from (select dept_id, emp_id, emp_id - row_number() over (partition by dept_id order by emp_id) as g from employees) q group by dept_id, g",
    ),
    "sessions_by_gap": (
        P,
        "select device, sum(new_run) over (partition by device order by at, level, state, new_run desc rows unbounded preceding) as run, at from (select device, at, level, state, case when lag(state) over (partition by device order by at, level, state) is distinct from state then 1 else 0 end as new_run from readings) q",
    ),
    "pivot_by_case": (
        P,
        "select store_id, sum(case when extract(month from day) = 1 then qty end) as jan, sum(case when extract(month from day) = 2 then qty end) as feb, sum(case when extract(month from day) = 12 then qty else 0 end) as dec_ from sales group by store_id",
    ),
    "pivot_by_filter": (
        P,
        "select dept_id, count(*) filter (where active) as on_, count(*) filter (where not active) as off_, avg(salary) filter (where active is null) as odd from employees group by dept_id",
    ),
    "anti_join_keyword": (S, "select * from departments d left anti join employees e on d.dept_id = e.dept_id"),
    "semi_join_keyword": (
        S,
        "select d.dname from departments d left semi join projects p on d.dept_id = p.dept_id and p.cost > 10",
    ),
    "deduplicated": (
        P,
        "select emp_id, proj_id, role from (select a.*, row_number() over (partition by emp_id, proj_id order by role, hours) as rn from assignments a) t where rn = 1",
    ),
    "duplicates_found": (
        P,
        "select emp_id, proj_id, count(*) as n from assignments group by emp_id, proj_id having count(*) > 1",
    ),
    "lateral_top": (
        P,
        "select d.dept_id, t.emp_id, t.salary from departments d cross join lateral (select emp_id, salary from employees e where e.dept_id = d.dept_id order by salary desc nulls last, emp_id limit 2) t",
    ),
    "lateral_left": (
        P,
        "select d.dept_id, t.n from departments d left join lateral (select count(*) as n from projects p where p.dept_id = d.dept_id) t on true",
    ),
    "lateral_expression": (P, "select e.emp_id, x.yearly from employees e, lateral (select e.salary * 12 as yearly) x"),
    "natural_join": (P, "select * from departments natural join projects"),
    "natural_left_join": (P, "select dept_id, dname, title from departments natural left join projects"),
    "using_two": (
        P,
        "select emp_id, proj_id, a.role, b.role as other from assignments a join assignments b using (emp_id, proj_id)",
    ),
    "quoted_names": (
        P,
        'select "d"."dname" as "Name of It", count(*) as "N" from "departments" as "d" group by "d"."dname"',
    ),
    "mixed_case_names": (P, "SELECT E.Emp_Id, D.DName FROM Employees E JOIN Departments D ON E.Dept_Id = D.Dept_Id"),
    "backquoted_names": (
        S,
        "select `d`.`city` as `the city`, count(1) as `n` from `departments` `d` group by `d`.`city`",
    ),
    "alias_with_columns": (
        P,
        "select t.k, t.v from (select dept_id, count(*) from employees group by dept_id) as t(k, v) where t.v > 1",
    ),
    "with_columns": (
        P,
        "with t(k, total) as (select dept_id, sum(salary) from employees group by dept_id) select k, total from t where total > 10",
    ),
    "nested_with": (
        P,
        "with a as (with b as (select dept_id, salary from employees where active) select dept_id, sum(salary) as s from b group by dept_id) select count(*) as n, max(s) as m from a",
    ),
    "values_joined": (
        P,
        "select e.emp_id, v.label from employees e join (values (1, 'one'), (2, 'two'), (null, 'none')) as v(id, label) on e.dept_id = v.id",
    ),
    "values_as_with": (
        S,
        "with bands as (select * from values (0, 11, 'low'), (11, 100, 'high') as t(lo, hi, band)) select e.emp_id, b.band from employees e join bands b on e.salary >= b.lo and e.salary < b.hi",
    ),
    "boolean_expressions": (
        P,
        "select emp_id, active and salary > 10 as a, active or dept_id = 1 as o, not active as n, (salary > 10) is true as t, active is unknown as u from employees",
    ),
    "distinct_from_in_join": (
        P,
        "select e.emp_id, f.emp_id as other from employees e join employees f on e.dept_id is not distinct from f.dept_id and e.emp_id < f.emp_id",
    ),
    "casts": (
        P,
        "select emp_id::text || '!' as a, salary::int as b, hired::timestamp as c, '12'::int + emp_id as d from employees where salary >= 0",
    ),
    "cast_to_decimal": (
        S,
        "select cast(emp_id as decimal(10, 2)) / 3 as third, cast(salary as string) as s from employees",
    ),
    "date_trunc_group": (
        P,
        "select date_trunc('month', hired) as m, count(*) as n from employees group by date_trunc('month', hired)",
    ),
    "date_functions": (
        S,
        "select emp_id, year(hired) as y, month(hired) as m, dayofmonth(hired) as d, date_add(hired, 10) as later, add_months(hired, 1) as next, datediff(date '2024-12-31', hired) as days_left, last_day(hired) as l from employees",
    ),
    "interval_window": (
        P,
        "select a.emp_id, b.emp_id as later from employees a join employees b on b.hired > a.hired and b.hired <= a.hired + interval '30 days'",
    ),
    "week_and_quarter": (
        P,
        "select extract(quarter from day) as q, extract(week from day) as w, sum(qty) as s from sales group by extract(quarter from day), extract(week from day)",
    ),
    "timestamps": (
        P,
        "select device, date_trunc('hour', at) as h, count(*) as n, avg(level) as a from readings group by device, date_trunc('hour', at)",
    ),
    "timestamps_between": (
        P,
        "select device, at from readings where at between timestamp '2024-03-01 00:00:00' and timestamp '2024-03-01 12:00:00'",
    ),
    "timestamp_as_date": (
        S,
        "select cast(at as date) as d, hour(at) as h, max(level) as top from readings group by cast(at as date), hour(at)",
    ),
    "timestamp_plus_interval": (
        P,
        "select r.device, s.at from readings r join readings s on r.device = s.device and s.at > r.at and s.at <= r.at + interval '10 minutes'",
    ),
    "group_by_ordinals": (
        P,
        "select dept_id, active, count(*) from employees group by 1, 2 order by 1 nulls first, 2 nulls first",
    ),
    "group_by_all": (S, "select dept_id, active, count(*) as n from employees group by all"),
    "group_by_case": (
        P,
        "select case when salary is null then 'none' when salary < 11 then 'low' else 'high' end as band, count(*) as n, min(hired) as first from employees group by case when salary is null then 'none' when salary < 11 then 'low' else 'high' end",
    ),
    "having_alias": (S, "select dept_id, count(*) as n from employees group by dept_id having n > 1"),
    "order_by_expression": (P, "select emp_id, salary from employees order by coalesce(salary, 0) * -1, emp_id"),
    "order_by_aggregate": (
        P,
        "select dept_id, count(*) as n from employees group by dept_id order by sum(salary) desc nulls last, dept_id nulls first",
    ),
    "order_by_case": (
        P,
        "select emp_id, active from employees order by case when active then 0 when not active then 1 else 2 end, emp_id desc",
    ),
    "fetch_first": (P, "select emp_id from employees order by emp_id offset 1 rows fetch first 3 rows only"),
    "star_of_table": (P, "select e.*, d.city from employees e join departments d on e.dept_id = d.dept_id"),
    "limited_derived_table": (
        P,
        "select d.city, count(*) as n from (select * from employees order by salary desc nulls last, emp_id limit 5) e join departments d using (dept_id) group by d.city",
    ),
    "window_over_aggregates": (
        P,
        "select dept_id, active, sum(salary) as s, sum(salary) * 1.0 / nullif(sum(sum(salary)) over (partition by dept_id), 0) as share from employees group by dept_id, active",
    ),
    "named_window": (
        P,
        "select emp_id, rank() over w as r, count(*) over w as n, sum(salary) over w as s from employees window w as (partition by dept_id order by hired)",
    ),
    "range_frame": (
        P,
        "select emp_id, count(*) over (order by dept_id range between 1 preceding and 1 following) as n from employees",
    ),
    "range_frames_of_months": (
        P,
        "select emp_id, count(*) over (order by hired range between '1 month'::interval preceding and current row) as a, sum(emp_id) over (partition by active order by hired desc nulls last range between '2 months' preceding and interval '1 year' following) as b from employees",
        "select emp_id, count(*) over (order by hired range between interval '1 month' preceding and current row) as a, sum(emp_id) over (partition by active order by hired desc nulls last range between interval '2 months' preceding and interval '1 year' following) as b from employees",
    ),
    "range_frames_of_numbers": (
        D,
        "select emp_id, sum(emp_id) over (order by salary range between 0.5 preceding and 1.25 following) as a, count(*) over (order by salary::double desc nulls last range between 2 following and unbounded following) as b, count(*) over (order by salary nulls first range between unbounded preceding and 1.5 preceding) as c from employees",
    ),
    "intervals_are_cast": (
        P,
        "select emp_id, hired + '1 month 2 days'::interval as a, hired - cast('1 day' as interval) as b, hired + interval '1-2' year to month as c, hired + interval '1 02:03:04.5' day to second as d from employees",
        "select emp_id, hired + interval '1 month 2 days' as a, hired - interval '1 day' as b, hired + interval '14 months' as c, hired + interval '1 day 2 hours 3 minutes 4 seconds 500 milliseconds' as d from employees",
    ),
    "medians_and_statistics_over_partitions": (
        D,
        "select emp_id, median(salary::double) over (partition by dept_id) as a, stddev(salary::double) over (partition by dept_id order by emp_id) as b, corr(salary, emp_id) over (partition by active) as c, quantile_cont(salary::double, 0.3) filter (where active) over (order by emp_id rows 3 preceding) as d, mad(salary::double) over () as e from employees",
    ),
    "shapes_of_distributions": (
        D,
        "select dept_id, kurtosis(emp_id) as a, kurtosis_pop(emp_id) as b, product(emp_id) as c, mad(emp_id) as d, mad(distinct salary::double) filter (where active) as e from employees group by dept_id",
    ),
    "aggregates_of_the_group_in_subqueries_of_having": (
        P,
        "select dept_id, count(*) as n from employees e group by dept_id having exists (select 1 from projects p where p.cost > min(e.salary) and count(e.emp_id) > 1) or dept_id in (select dept_id from departments d where d.budget > sum(e.emp_id))",
        "select dept_id, n from (select dept_id, count(*) as n, min(salary) as m, count(emp_id) as c, sum(emp_id) as s from employees group by dept_id) e where exists (select 1 from projects p where p.cost > m and c > 1) or dept_id in (select dept_id from departments d where d.budget > s)",
    ),
    "aggregates_of_the_group_in_subqueries_of_the_list": (
        P,
        "select manager_id, (select count(*) from departments d where d.budget < max(e.salary)) as n, rank() over (order by manager_id) as r from employees e group by manager_id order by (select max(d.city) from departments d where d.dept_id >= avg(e.dept_id)), manager_id",
        "select manager_id, (select count(*) from departments d where d.budget < a) as n, rank() over (order by manager_id nulls last) as r from (select manager_id, max(salary) as a, avg(dept_id) as b from employees group by manager_id) e order by (select max(d.city) from departments d where d.dept_id >= b) nulls last, manager_id nulls last",
    ),
    "grouping_sets_in_parentheses": (
        P,
        "select dept_id, active, count(*) as n from employees group by grouping sets ((dept_id, (dept_id, active)), grouping sets (((active)), ()))",
        "select dept_id, active, count(*) as n from employees group by grouping sets ((dept_id, active), (active), ())",
    ),
    "groups_frame": (
        P,
        "select emp_id, sum(emp_id) over (order by dept_id groups between 1 preceding and current row) as s from employees",
    ),
    "moving_average": (
        P,
        "select emp_id, avg(salary) over (order by emp_id rows between 2 preceding and current row) as a from employees",
    ),
    "ntile": (
        P,
        "select emp_id, ntile(3) over (order by emp_id) as bucket, percent_rank() over (order by salary) as p, cume_dist() over (order by salary) as c from employees",
    ),
    "first_and_last": (
        P,
        "select emp_id, first_value(emp_id) over (partition by dept_id order by emp_id) as a, last_value(emp_id) over (partition by dept_id order by emp_id rows between unbounded preceding and unbounded following) as b from employees",
    ),
    "nested_outer_join": (
        P,
        "select e.emp_id, d.dname, p.title from employees e left join (departments d join projects p on p.dept_id = d.dept_id) on e.dept_id = d.dept_id",
    ),
    "nested_outer_join_without_parentheses": (
        P,
        "select e.emp_id, d.dname, p.title from employees e left join departments d join projects p on p.dept_id = d.dept_id on e.dept_id = d.dept_id",
    ),
    "comma_binds_less": (
        P,
        "select s.store_id, e.emp_id, d.dname from stores s, employees e right join departments d on e.dept_id = d.dept_id",
    ),
    "joins_in_parentheses": (
        P,
        "select dept_id, emp_id, title from (employees join departments using (dept_id)) full join projects using (dept_id)",
    ),
    "nested_full_join": (
        P,
        "select dept_id, e.emp_id, d.dname, p.title from employees e full join (departments d full join projects p using (dept_id)) using (dept_id)",
    ),
    "subquery_in_inner_on": (
        P,
        "select e.emp_id, p.title from employees e join projects p on p.dept_id = e.dept_id and p.cost > (select avg(cost) from projects q where q.dept_id = e.dept_id)",
    ),
    "subquery_in_case": (
        P,
        "select emp_id, case when exists (select 1 from assignments a where a.emp_id = e.emp_id) then 'busy' else 'free' end as state from employees e",
    ),
    "subquery_in_function": (
        P,
        "select e.emp_id, coalesce((select max(a.hours) from assignments a where a.emp_id = e.emp_id), 0) + 1 as h from employees e",
    ),
    "subquery_in_group_by": (
        P,
        "select (select city from departments d where d.dept_id = e.dept_id) as c, count(*) as n from employees e group by (select city from departments d where d.dept_id = e.dept_id)",
    ),
    "subquery_grouped_by_position": (
        P,
        "select (select city from departments d where d.dept_id = e.dept_id) as c, sum(salary) as n from employees e group by 1",
    ),
    "subquery_in_order_by": (
        P,
        "select emp_id from employees e order by (select count(*) from assignments a where a.emp_id = e.emp_id) desc, emp_id",
    ),
    "subquery_in_aggregate": (
        P,
        "select sum((select count(*) from assignments a where a.emp_id = e.emp_id)) as s from employees e",
    ),
    "subquery_in_between": (
        P,
        "select emp_id from employees where salary between (select min(cost) from projects) and (select max(cost) from projects)",
    ),
    "many_scalar_subqueries": (
        P,
        "select case when (select count(*) from sales where qty = 1) > 1 then (select avg(price) from sales where qty = 1) else (select sum(qty) from sales where qty > 1) end as b1, case when (select count(*) from sales where qty = 2) > 1 then (select avg(price) from sales where qty = 2) else (select sum(qty) from sales where qty > 2) end as b2, case when (select count(*) from sales where qty = 3) > 1 then (select avg(price) from sales where qty = 3) else (select sum(qty) from sales where qty > 3) end as b3 from stores where store_id = 1",
    ),
    "in_row_values": (P, "select emp_id from employees where (dept_id, active) in ((1, true), (2, false))"),
    "not_in_row_values": (
        P,
        "select emp_id from assignments where emp_id is not null and role is not null and (emp_id, role) not in ((1, 'dev'), (2, 'lead'))",
    ),
    "rows_equal": (
        P,
        "select e.emp_id, f.emp_id as other from employees e join employees f on (e.dept_id, e.active) = (f.dept_id, f.active) where e.dept_id is not null and e.active is not null and f.dept_id is not null and f.active is not null",
    ),
    "rows_ordered": (
        P,
        "select e.emp_id from employees e where e.dept_id is not null and (e.dept_id, e.emp_id) > (2, 3)",
    ),
    "rollup_with_having": (
        P,
        "select dept_id, active, count(*) as n from employees group by rollup (dept_id, active) having count(*) > 1",
    ),
    "rollup_of_join": (
        P,
        "select st.city, p.category, sum(s.qty) as q, avg(s.price) as a, grouping(st.city, p.category) as g from sales s join products p on s.product_id = p.product_id join stores st on s.store_id = st.store_id group by rollup (st.city, p.category)",
    ),
    "rank_in_rollup": (
        P,
        "select city, sum(budget) as b, grouping(city) as g, rank() over (partition by grouping(city) order by sum(budget) desc nulls last) as r from departments group by rollup (city)",
    ),
    "grouping_sets_pairs": (
        P,
        "select dept_id, active, manager_id, count(*) as n from employees group by grouping sets ((dept_id, active), (active, manager_id), ())",
    ),
    "manager_chain": (
        P,
        "select e.emp_id, m.ename as manager, g.ename as above from employees e left join employees m on e.manager_id = m.emp_id left join employees g on m.manager_id = g.emp_id",
    ),
    "richer_than_manager": (
        P,
        "select e.ename from employees e join employees m on e.manager_id = m.emp_id where e.salary > m.salary",
    ),
    "leaf_employees": (
        P,
        "select emp_id from employees where emp_id not in (select manager_id from employees where manager_id is not null)",
    ),
    "above_department_average": (
        P,
        "select e.emp_id, e.salary - a.avg_salary as above from employees e join (select dept_id, avg(salary) as avg_salary from employees group by dept_id) a on a.dept_id = e.dept_id where e.salary > a.avg_salary",
    ),
    "max_without_ties": (
        P,
        "select dept_id, emp_id from employees e where salary >= all (select salary from employees f where f.dept_id = e.dept_id and salary is not null)",
    ),
    "bought_together": (
        P,
        "select a.product_id as x, b.product_id as y, count(*) as n from sales a join sales b on a.store_id = b.store_id and a.day = b.day and a.product_id < b.product_id group by a.product_id, b.product_id",
    ),
    "division_all_products": (
        P,
        "select st.store_id from stores st where not exists (select 1 from products p where not exists (select 1 from sales s where s.store_id = st.store_id and s.product_id = p.product_id))",
    ),
    "union_with_totals": (
        P,
        "select city, count(*) as n from departments group by city union all select 'all', count(*) from departments",
    ),
    "union_in_subquery": (
        P,
        "select emp_id from employees where dept_id in (select dept_id from departments where city = 'Bonn' union select dept_id from projects where cost > 12)",
    ),
    "except_of_aggregates": (
        S,
        "select dept_id, count(*) as n from employees group by dept_id except select dept_id, count(*) from projects group by dept_id",
    ),
    "exists_union": (
        P,
        "select d.dept_id from departments d where exists (select 1 from employees e where e.dept_id = d.dept_id union all select 1 from projects p where p.dept_id = d.dept_id)",
    ),
    "string_work": (
        P,
        "select emp_id, initcap(ename) as i, length(ename) as l, left(ename, 2) as f, right(ename, 1) as r, replace(ename, 'n', 'm') as p, position('n' in ename) as n, lpad(ename, 5, '*') as d, trim(both 'a' from ename) as t from employees",
    ),
    "string_work_spark": (
        S,
        "select concat(ename, '-', cast(dept_id as string)) as c, concat_ws('/', ename, 'x') as w, upper(substr(ename, 1, 1)) as u, instr(ename, 'n') as i from employees",
    ),
    "like_many": (
        P,
        "select emp_id from employees where ename ilike 'A%' or ename like '%\\_%' or ename not like '%o%'",
    ),
    "regexp": (S, "select ename from employees where ename rlike '^[a-c].*n'"),
    "numbers": (
        P,
        "select emp_id, round(salary, 1) as r, floor(salary) as f, ceil(salary) as c, abs(salary) as a, mod(emp_id, 3) as m, sign(salary) as s, greatest(emp_id, dept_id) as g, power(emp_id, 2) as p from employees",
    ),
    "count_if": (
        S,
        "select dept_id, count_if(coalesce(salary > 10, false)) as n, bool_or(active) as any_, bool_and(active) as every_ from employees group by dept_id",
    ),
    "if_and_nvl": (
        S,
        "select emp_id, if(salary > 10, 'a', 'b') as x, nvl(ename, '?') as y, nvl2(manager_id, 1, 0) as z, decode(dept_id, 1, 'one', 2, 'two', 'many') as w from employees",
    ),
    "where_one_is_one": (P, "select count(*) as n from employees where 1 = 1 and true"),
    "constant_group": (P, "select 'x' as label, count(*) as n from employees group by 'x'"),
    "sum_over_distinct_rows": (
        P,
        "select sum(budget) as b from (select distinct d.dept_id, d.budget from departments d join employees e on e.dept_id = d.dept_id) q",
    ),
    "weighted_average": (
        P,
        "select store_id, sum(qty * price) / nullif(sum(case when price is not null then qty end), 0) as w from sales group by store_id",
    ),
    "difference_of_totals": (
        P,
        "select (select count(*) from employees) - (select count(*) from assignments) as d, (select max(day) from sales) as last",
    ),
    "abc_classes": (
        P,
        "select product_id, case when cum <= 0.5 * total then 'A' else 'B' end as class from (select product_id, sum(r) over (order by r desc, product_id) as cum, sum(r) over () as total from (select product_id, coalesce(sum(qty), 0) as r from sales where product_id is not null group by product_id) x) y",
    ),
    "latest_reading": (
        P,
        "select r.device, r.at, r.level from readings r join (select device, max(at) as at from readings group by device) l on l.device = r.device and l.at = r.at",
    ),
    "reading_differences": (
        P,
        "select device, at, level - lag(level) over (partition by device order by at, level, state) as delta from readings",
    ),
    "state_counts": (
        S,
        "select device, sum(case state when 'err' then 1 else 0 end) as errors, count(distinct state) as states, max(at) as last from readings group by device having errors > 0",
    ),
    "nulls_in_union": (P, "select dept_id, null as city from employees union all select null, city from departments"),
    "nulls_in_union_first": (
        P,
        "select null as k, count(*) as n from employees union select dept_id, count(*) from employees group by dept_id",
    ),
    "date_of_single_digits": (P, "select emp_id from employees where hired >= date '2024-2-1'"),
    "rolling_sum_of_days": (
        P,
        "select day, sum(q) over (order by day rows between 2 preceding and current row) as r from (select day, sum(qty) as q from sales group by day) x",
    ),
    "scalar_of_a_table_with_one_row": (
        P,
        "with m as (select max(salary) as top from employees) select emp_id from employees where salary = (select top from m)",
    ),
    "scalar_of_a_fixed_group": (
        P,
        "select emp_id from employees where salary >= (select avg(salary) from employees where dept_id = 1 group by dept_id)",
    ),
    "scalar_limit_one": (
        P,
        "select d.dept_id, (select e.ename from employees e where e.dept_id = d.dept_id order by e.salary desc nulls last, e.emp_id limit 1) as top from departments d",
    ),
}
