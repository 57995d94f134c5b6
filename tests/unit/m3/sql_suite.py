"""Small queries, each about one thing that SQL does, with its dialect: ``postgres`` or ``spark``.

``NAME = (dialect, text)``, or ``(dialect, text, DuckDB's text)`` where sqlglot does not translate it. A query with an
outermost ORDER BY is compared in order, so it orders by enough columns to have only one answer.
"""

from __future__ import annotations

from tests.unit.m3.sql_analytics import ANALYTICS
from tests.unit.m3.sql_clauses import CLAUSES
from tests.unit.m3.sql_forms import FORMS
from tests.unit.m3.sql_functions import SCALARS
from tests.unit.m3.sql_lists import LISTS
from tests.unit.m3.sql_ordered import ORDERED
from tests.unit.m3.sql_time import TIMES

P, S, D = "postgres", "spark", "duckdb"

JOINS = {
    "inner_join": (P, "select e.ename, d.dname from employees e join departments d on e.dept_id = d.dept_id"),
    "inner_join_on_null_keys": (
        P,
        "select a.emp_id, b.emp_id as other from employees a join employees b on a.dept_id = b.manager_id",
    ),
    "left_join": (P, "select e.emp_id, d.city from employees e left join departments d on e.dept_id = d.dept_id"),
    "left_join_condition_on_left": (
        P,
        "select e.emp_id, d.dname from employees e left join departments d on e.dept_id = d.dept_id and e.salary > 10",
    ),
    "left_join_condition_on_right": (
        P,
        "select e.emp_id, d.dname from employees e left join departments d on e.dept_id = d.dept_id and d.city = 'Bonn'",
    ),
    "left_join_condition_in_where": (
        P,
        "select e.emp_id, d.dname from employees e left join departments d on e.dept_id = d.dept_id where d.city = 'Bonn'",
    ),
    "left_join_is_null": (
        P,
        "select e.emp_id from employees e left join departments d on e.dept_id = d.dept_id where d.dept_id is null",
    ),
    "left_join_null_or_value": (
        S,
        "select e.emp_id, d.city from employees e left join departments d on e.dept_id = d.dept_id where d.city is null or d.city <> 'Bonn'",
    ),
    "left_join_of_a_join_of_derived_tables": (
        P,
        "select e.emp_id, p.title from employees e left join ((select dept_id as x from departments where city = 'Bonn') d join projects p on p.dept_id = d.x) on e.dept_id = d.x",
    ),
    "left_join_on_subqueries": (
        P,
        "select e.emp_id, d.dept_id as d from employees e left join departments d on e.dept_id = d.dept_id and d.city in (select city from stores) and exists (select 1 from employees m where m.manager_id = e.emp_id or m.emp_id = 2)",
        "with d as (select *, city in (select city from stores) as q from departments), e as (select *, exists (select 1 from employees m where m.manager_id = e.emp_id or m.emp_id = 2) as q from employees e) select e.emp_id, d.dept_id as d from e left join d on e.dept_id = d.dept_id and d.q and e.q",
    ),
    "right_join_on_subqueries_that_are_asked_again": (
        S,
        "select e.emp_id, d.dept_id as d from departments d right join employees e on e.dept_id = d.dept_id and d.city not in (select city from stores) and e.manager_id not in (select dept_id from projects) where d.city not in (select city from stores) or d.city is null or e.manager_id in (select dept_id from projects)",
        "with d as (select *, city not in (select city from stores) as q from departments), e as (select *, manager_id not in (select dept_id from projects) as q from employees) select e.emp_id, d.dept_id as d from d right join e on e.dept_id = d.dept_id and d.q and e.q where d.city not in (select city from stores) or d.city is null or e.manager_id in (select dept_id from projects)",
    ),
    "full_join_on_subqueries": (
        P,
        "select e.emp_id, d.dept_id as d, d.city not in (select city from stores) as c from employees e full join departments d on e.dept_id = (select max(c.dept_id) from departments c where c.city = d.city) and e.emp_id > (select min(emp_id) from employees)",
        "with d as (select *, (select max(c.dept_id) from departments c where c.city = d.city) as q from departments d), e as (select *, emp_id > (select min(emp_id) from employees) as q from employees) select e.emp_id, d.dept_id as d, d.city not in (select city from stores) as c from e full join d on e.dept_id = d.q and e.q",
    ),
    "null_of_no_type_and_a_subquery": (
        D,
        "select emp_id, null in (select dept_id from departments) as a, null not in (select d.budget from departments d where d.dept_id > e.emp_id) as b, null > any (select dept_id from projects) as c, (null <= all (select p.dept_id from projects p where p.dept_id > e.emp_id)) is null as f from employees e",
    ),
    "left_join_count": (
        P,
        "select d.dept_id, count(e.emp_id) as n, count(*) as m from departments d left join employees e on e.dept_id = d.dept_id group by d.dept_id",
    ),
    "left_join_sum_coalesce": (
        S,
        "select d.dname, coalesce(sum(e.salary), 0) as t from departments d left join employees e on e.dept_id = d.dept_id group by d.dname",
    ),
    "left_join_twice": (
        P,
        "select e.emp_id, d.dname, m.ename from employees e left join departments d on e.dept_id = d.dept_id left join employees m on e.manager_id = m.emp_id",
    ),
    "left_join_on_true_part": (
        P,
        "select e.emp_id, p.title from employees e left join projects p on p.dept_id = e.dept_id and p.cost > e.salary",
    ),
    "left_then_inner": (
        P,
        "select e.emp_id, a.hours from employees e left join departments d on e.dept_id = d.dept_id join assignments a on a.emp_id = e.emp_id",
    ),
    "right_join": (P, "select e.ename, d.dname from employees e right join departments d on e.dept_id = d.dept_id"),
    "right_join_count": (
        S,
        "select d.city, count(e.salary) as n from employees e right join departments d on e.dept_id = d.dept_id group by d.city",
    ),
    "full_join": (P, "select e.emp_id, d.dept_id from employees e full join departments d on e.dept_id = d.dept_id"),
    "full_join_coalesce": (
        S,
        "select coalesce(e.dept_id, d.dept_id) as k, count(*) as n from employees e full outer join departments d on e.dept_id = d.dept_id group by coalesce(e.dept_id, d.dept_id)",
    ),
    "full_join_duplicates": (P, "select a.role, s.qty from assignments a full join sales s on a.hours = s.qty"),
    "using": (P, "select dept_id, ename, dname from employees join departments using (dept_id)"),
    "left_using": (
        S,
        "select dept_id, count(dname) as n from employees left join departments using (dept_id) group by dept_id",
    ),
    "full_using": (
        P,
        "select dept_id, count(*) as n from employees full join projects using (dept_id) group by dept_id",
    ),
    "full_using_four_times": (
        P,
        "select dept_id, e.emp_id, d.dname, p.title, f.salary, c.city from employees e full join departments d using (dept_id) full join projects p using (dept_id) full join employees f using (dept_id) full join departments c using (dept_id)",
    ),
    "full_join_of_neighbours": (
        P,
        "select a.emp_id, b.ename, c.dname, p.title, e.emp_id as other from employees a full join employees b on a.manager_id = b.emp_id full join departments c on b.dept_id = c.dept_id full join projects p on p.dept_id = c.dept_id full join employees e on e.dept_id = p.dept_id where p.title is null or e.salary > 10",
    ),
    "full_using_four_times_counted": (
        P,
        "select dept_id, count(d.city) as n, sum(coalesce(f.salary, 0)) as s from employees e full join departments d using (dept_id) full join projects p using (dept_id) full join employees f using (dept_id) where dept_id is null or dept_id > 1 group by dept_id",
    ),
    "natural_anti_join": (
        "duckdb",
        "select product_id, category from products natural anti join (select product_id from sales where qty > 1) s",
    ),
    "natural_semi_join": (
        "duckdb",
        "select product_id, category from products natural semi join (select product_id from sales where qty > 1) s",
    ),
    "a_row_before_another": (
        P,
        "select emp_id from employees e where dept_id is not null and (emp_id, dept_id) < any (select emp_id, proj_id from assignments)",
        "select emp_id from employees e where dept_id is not null and exists (select 1 from assignments a where e.emp_id < a.emp_id or (e.emp_id = a.emp_id and e.dept_id < a.proj_id))",
    ),
    "a_row_like_all": (
        P,
        "select emp_id from employees e where (emp_id, dept_id) = all (select emp_id, proj_id from assignments where emp_id = e.emp_id)",
        "select emp_id from employees e where not exists (select 1 from assignments a where a.emp_id = e.emp_id and (e.dept_id <> a.proj_id or e.dept_id is null or a.proj_id is null))",
    ),
    "cross_join": (P, "select d.dname, s.city from departments d cross join stores s"),
    "comma_join": (
        S,
        "select s.qty, p.category from sales s, products p where s.product_id = p.product_id and s.qty > 1",
    ),
    "theta_self_join": (
        P,
        "select a.emp_id, b.emp_id as richer from employees a join employees b on a.salary < b.salary",
    ),
    "theta_self_join_count": (
        S,
        "select a.dept_id, count(*) as pairs from employees a join employees b on a.dept_id = b.dept_id and a.emp_id < b.emp_id group by a.dept_id",
    ),
    "range_join": (
        P,
        "select p.title, count(*) as n from projects p join sales s on s.day >= p.started and s.price <= p.cost group by p.title",
    ),
    "three_tables": (
        P,
        "select st.city, p.category, sum(s.qty * s.price) as revenue from sales s join products p on s.product_id = p.product_id join stores st on s.store_id = st.store_id group by st.city, p.category",
    ),
    "difference_in_a_join": (
        P,
        "select s.product_id, sum(s.price - p.list_price) as t from sales s join products p on s.product_id = p.product_id group by s.product_id",
    ),
}

CONDITIONS = {
    "and_or_not_with_nulls": (P, "select emp_id from employees where not (salary > 10 and dept_id = 1)"),
    "or_with_nulls": (S, "select emp_id from employees where salary > 10 or manager_id = 2"),
    "between": (
        P,
        "select emp_id from employees where salary between 10 and 20 and hired not between date '2024-01-10' and date '2024-02-10'",
    ),
    "like": (P, "select ename from employees where ename like '_nn%'"),
    "not_like": (S, "select ename from employees where ename not like '%n%'"),
    "in_list": (P, "select ename from employees where dept_id in (1, 3) and ename not in ('bob', 'cyd')"),
    "not_in_list_with_null": (P, "select emp_id from employees where dept_id not in (1, null)"),
    "is_null": (P, "select emp_id from employees where manager_id is null and salary is not null"),
    "distinct_from": (P, "select emp_id from employees where dept_id is distinct from manager_id"),
    "null_safe_equal": (S, "select a.emp_id from employees a join departments d on a.dept_id <=> d.dept_id"),
    "boolean_column": (P, "select emp_id from employees where active and not (salary < 0)"),
    "is_not_true": (P, "select emp_id from employees where (salary > 10) is not true"),
    "case_when": (
        P,
        "select emp_id, case when salary > 12 then 'high' when salary > 0 then 'low' end as band from employees",
    ),
    "case_operand": (
        S,
        "select emp_id, case dept_id when 1 then 'one' when 2 then 'two' else 'more' end as d from employees",
    ),
    "coalesce_nullif": (P, "select emp_id, coalesce(ename, 'nobody') as n, nullif(dept_id, 2) as d from employees"),
    "concat_strings": (P, "select ename || '/' || coalesce(cast(dept_id as varchar), '-') as tag from employees"),
    "string_functions": (S, "select upper(ename) as u, substring(ename, 1, 2) as s from employees"),
    "extract": (
        P,
        "select extract(year from hired) as y, extract(month from hired) as m, count(*) as n from employees group by extract(year from hired), extract(month from hired)",
    ),
    "date_plus_interval": (P, "select emp_id from employees where hired + interval '1' month > date '2024-02-28'"),
    "date_between_tables": (
        S,
        "select e.emp_id, p.title from employees e join projects p on e.dept_id = p.dept_id where p.started >= e.hired - interval 30 days",
    ),
    "arithmetic": (P, "select emp_id, salary * 2 - 1.5 as x, -dept_id as y, (dept_id + 1) * 3 as z from employees"),
    "division": (P, "select emp_id, salary / 4.0 as quarter from employees"),
    "literal_columns": (P, "select 1 as one, 'x' as x, emp_id from employees"),
    "duplicates_stay": (P, "select role from assignments"),
    "select_star": (P, "select * from assignments where hours > 3"),
}

GROUPS = {
    "sum_of_nothing": (
        P,
        "select sum(salary) as s, count(*) as n, avg(salary) as a, min(salary) as m from employees where salary > 1000",
    ),
    "sum_of_nulls": (P, "select dept_id, sum(salary) as s from employees where salary is null group by dept_id"),
    "count_column": (S, "select dept_id, count(salary) as n, count(*) as m from employees group by dept_id"),
    "group_by_null_key": (P, "select dept_id, active, sum(salary) as s from employees group by dept_id, active"),
    "group_by_expression": (
        P,
        "select coalesce(dept_id, 0) + 1 as d, count(*) as n from employees group by coalesce(dept_id, 0) + 1",
    ),
    "group_by_ordinal": (S, "select year(hired) as y, active, max(salary) as m from employees group by 1, 2"),
    "group_by_alias": (
        S,
        "select case when salary > 10 then 'rich' else 'poor' end as class, count(*) as n from employees group by class",
    ),
    "group_without_aggregate": (P, "select dept_id from employees group by dept_id"),
    "min_max_strings": (P, "select dept_id, min(ename) as a, max(ename) as b from employees group by dept_id"),
    "min_max_dates": (S, "select store_id, min(day) as first, max(day) as last from sales group by store_id"),
    "min_max_total": (P, "select min(hired) as a, max(hired) as b, min(salary) as c, max(ename) as d from employees"),
    "min_max_over_join": (
        P,
        "select d.city, max(e.salary) as top, min(e.hired) as first from departments d join employees e on e.dept_id = d.dept_id group by d.city",
    ),
    "max_of_expression": (P, "select store_id, max(qty * price) as best from sales group by store_id"),
    "avg_distinct": (P, "select dept_id, avg(distinct salary) as a from employees group by dept_id"),
    "sum_distinct": (S, "select sum(distinct qty) as s, count(distinct price) as n from sales"),
    "count_distinct": (P, "select role, count(distinct emp_id) as n from assignments group by role"),
    "count_distinct_pair": (S, "select count(distinct emp_id, proj_id) as n from assignments"),
    "filter": (
        P,
        "select dept_id, count(*) filter (where active) as n, sum(salary) filter (where not active) as s from employees group by dept_id",
    ),
    "filter_total": (
        P,
        "select count(*) filter (where qty > 2) as n, max(price) filter (where qty is null) as m from sales",
    ),
    "expression_over_aggregates": (
        P,
        "select dept_id, sum(salary) * 2 - count(*) as x, max(salary) - min(salary) as spread from employees group by dept_id",
    ),
    "ratio_of_sums": (
        P,
        "select store_id, sum(price * qty) / nullif(sum(qty), 0) as per_item from sales group by store_id",
    ),
    "case_in_sum": (
        S,
        "select store_id, sum(case when qty > 2 then price else 0 end) as big from sales group by store_id",
    ),
    "having": (
        P,
        "select dept_id, count(*) as n from employees group by dept_id having count(*) > 1 and sum(salary) > 10",
    ),
    "having_not_selected": (S, "select dept_id from employees group by dept_id having max(salary) > 12"),
    "having_without_group": (P, "select count(*) as n from employees having count(*) > 4"),
    "having_without_group_or_aggregate_column": (P, "select sum(salary) as s from employees having max(salary) > 20"),
    "stddev_variance": (
        P,
        "select dept_id, stddev_samp(salary) as a, var_pop(salary) as b from employees group by dept_id",
    ),
    "stddev_total": (S, "select stddev_pop(price) as a, variance(price) as b from sales"),
    "rollup": (P, "select dept_id, active, sum(salary) as s from employees group by rollup (dept_id, active)"),
    "rollup_counts_nulls_apart": (S, "select city, count(*) as n from departments group by rollup (city)"),
    "cube": (P, "select store_id, product_id, count(*) as n from sales group by cube (store_id, product_id)"),
    "grouping_sets": (
        P,
        "select dept_id, manager_id, max(salary) as m from employees group by grouping sets ((dept_id), (manager_id), ())",
    ),
    "grouping_function": (P, "select city, grouping(city) as g, count(*) as n from departments group by rollup (city)"),
}

SETS = {
    "distinct": (P, "select distinct dept_id, active from employees"),
    "distinct_expression": (S, "select distinct coalesce(dept_id, 0) % 2 as parity from employees"),
    "distinct_over_join": (P, "select distinct d.city from departments d join employees e on e.dept_id = d.dept_id"),
    "distinct_of_aggregates": (P, "select distinct count(*) as n from employees group by dept_id"),
    "union": (P, "select city from departments union select city from stores"),
    "union_of_nulls": (P, "select manager_id from employees union select dept_id from projects"),
    "union_all": (S, "select dept_id, ename from employees union all select dept_id, title from projects"),
    "union_all_of_aggregates": (
        P,
        "select 'sales' as what, count(*) as n from sales union all select 'stores', count(*) from stores",
    ),
    "except": (P, "select dept_id from employees except select dept_id from departments"),
    "except_all": (P, "select emp_id from assignments except all select emp_id from employees"),
    "intersect": (S, "select dept_id from employees intersect select dept_id from projects"),
    "intersect_all": (P, "select qty from sales intersect all select hours from assignments"),
    "three_way_set": (
        P,
        "(select emp_id from assignments union select emp_id from employees) except select manager_id from employees",
    ),
    "aggregate_over_union": (
        S,
        "select city, count(*) as n from (select city from departments union all select city from stores) c group by city",
    ),
}

SUBQUERIES = {
    "derived_table": (
        P,
        "select q.d, q.n + 1 as m from (select dept_id as d, count(*) as n from employees group by dept_id) q where q.n > 1",
    ),
    "aggregate_of_aggregate": (
        P,
        "select max(n) as most, count(*) as groups from (select dept_id, count(*) as n from employees group by dept_id) q",
    ),
    "group_by_an_aggregate": (
        S,
        "select n, count(*) as groups from (select dept_id, count(*) as n from employees group by dept_id) q group by n",
    ),
    "with": (
        P,
        "with rich as (select * from employees where salary > 10) select dept_id, count(*) as n from rich group by dept_id",
    ),
    "with_twice": (
        P,
        "with t as (select dept_id, sum(salary) as s from employees group by dept_id) select a.dept_id, b.dept_id as other from t a join t b on a.s < b.s",
    ),
    "with_nested": (
        S,
        "with a as (select store_id, sum(qty) as q from sales group by store_id), b as (select max(q) as q from a) select a.store_id from a join b on a.q = b.q",
    ),
    "with_inside": (P, "select x.n from (with c as (select city from stores) select count(*) as n from c) x"),
    "in_subquery": (
        P,
        "select ename from employees where dept_id in (select dept_id from departments where city = 'Bonn')",
    ),
    "not_in_with_null": (
        P,
        "select emp_id from employees where dept_id not in (select dept_id from projects where cost > 12)",
    ),
    "not_in_key": (S, "select emp_id from employees where dept_id not in (select dept_id from departments)"),
    "in_correlated": (
        P,
        "select emp_id from employees e where dept_id in (select proj_id from assignments a where a.hours >= e.manager_id)",
    ),
    "exists": (
        P,
        "select dname from departments d where exists (select 1 from employees e where e.dept_id = d.dept_id and e.salary > 10)",
    ),
    "not_exists": (
        P,
        "select dname from departments d where not exists (select * from employees e where e.dept_id = d.dept_id)",
    ),
    "exists_uncorrelated": (S, "select ename from employees where exists (select 1 from stores where city = 'Rome')"),
    "exists_under_or": (
        P,
        "select emp_id from employees e where e.salary > 15 or exists (select 1 from assignments a where a.emp_id = e.emp_id)",
    ),
    "exists_under_not_and": (
        P,
        "select emp_id from employees e where not (e.active and exists (select 1 from assignments a where a.emp_id = e.emp_id))",
    ),
    "exists_theta": (
        P,
        "select emp_id from employees e where exists (select 1 from employees f where f.dept_id = e.dept_id and f.salary > e.salary)",
    ),
    "exists_in_select": (
        P,
        "select d.dept_id, exists (select 1 from projects p where p.dept_id = d.dept_id) as busy from departments d",
    ),
    "any": (P, "select emp_id from employees where salary > any (select cost from projects)"),
    "all": (
        P,
        "select emp_id from employees where salary >= all (select cost from projects where started > date '2024-02-01')",
    ),
    "all_of_nothing": (
        P,
        "select emp_id from employees where salary > all (select cost from projects where cost > 1000)",
    ),
    "scalar_in_where": (P, "select emp_id from employees where salary > (select avg(salary) from employees)"),
    "scalar_correlated": (
        P,
        "select emp_id from employees e where salary = (select max(salary) from employees f where f.dept_id = e.dept_id)",
    ),
    "scalar_of_nothing": (
        P,
        "select emp_id from employees where salary > (select max(cost) from projects where cost > 1000)",
    ),
    "scalar_count_in_select": (
        P,
        "select d.dept_id, (select count(*) from employees e where e.dept_id = d.dept_id) as n from departments d",
    ),
    "scalar_sum_in_select": (
        S,
        "select d.dept_id, (select sum(salary) from employees e where e.dept_id = d.dept_id) as s from departments d",
    ),
    "scalar_in_having": (
        P,
        "select dept_id from employees group by dept_id having count(*) > (select count(*) from projects where cost > 12.5)",
    ),
    "correlated_in_having": (
        P,
        "select dept_id, sum(salary) as s from employees e group by dept_id having sum(salary) > (select sum(cost) from projects p where p.dept_id = e.dept_id)",
    ),
    "exists_in_having": (
        S,
        "select dept_id, count(*) as n from employees e group by dept_id having exists (select 1 from departments d where d.dept_id = e.dept_id)",
    ),
    "two_levels": (
        P,
        "select d.dept_id from departments d where exists (select 1 from employees e where e.dept_id = d.dept_id and e.salary > (select avg(f.salary) from employees f where f.dept_id = d.dept_id))",
    ),
    "two_levels_not_exists": (
        P,
        "select e.emp_id from employees e where not exists (select 1 from projects p where p.dept_id = e.dept_id and not exists (select 1 from assignments a where a.proj_id = p.proj_id and a.emp_id = e.emp_id))",
    ),
    "subquery_over_aggregate": (
        P,
        "select store_id, sum(qty) as q from sales group by store_id having sum(qty) >= (select max(q) from (select sum(qty) as q from sales group by store_id) x)",
    ),
    "derived_joins_that_leave_columns_unread": (
        P,
        "select e.emp_id, a.t, b.t as u from employees e join (select dept_id, min(cost) as t, max(cost) as x from projects group by dept_id) a on a.dept_id = e.dept_id join (select dept_id, min(budget) as t, max(budget) as x from departments group by dept_id) b on b.dept_id = e.dept_id",
    ),
    "two_columns_of_one_name": (
        P,
        "select e.dept_id, d.dept_id, count(*), count(*) from employees e join departments d on e.dept_id = d.dept_id group by e.dept_id, d.dept_id",
    ),
    "two_columns_of_one_name_in_rows": (P, "select * from employees e join departments d on e.dept_id = d.dept_id"),
    "derived_join": (
        P,
        "select e.emp_id from employees e join (select dept_id, max(salary) as top from employees group by dept_id) m on e.dept_id = m.dept_id and e.salary = m.top",
    ),
    "derived_left_join": (
        S,
        "select d.dept_id, q.n from departments d left join (select dept_id, count(*) as n from employees group by dept_id) q on q.dept_id = d.dept_id",
    ),
}

WINDOWS = {
    "row_number": (
        P,
        "select emp_id, row_number() over (partition by dept_id order by salary, emp_id) as r from employees",
    ),
    "row_number_top": (
        P,
        "select emp_id from (select emp_id, row_number() over (partition by dept_id order by salary desc, emp_id) as r from employees) q where r <= 2",
    ),
    "rank": (
        P,
        "select emp_id, rank() over (order by dept_id) as r, dense_rank() over (order by dept_id) as d from employees",
    ),
    "rank_by_partition": (
        S,
        "select emp_id, rank() over (partition by dept_id order by salary desc) as r from employees",
    ),
    "lag": (P, "select emp_id, lag(salary) over (order by emp_id) as before from employees"),
    "lead_default": (S, "select emp_id, lead(dept_id, 2, 0) over (order by emp_id) as later from employees"),
    "sum_over": (
        P,
        "select emp_id, sum(salary) over (partition by dept_id) as s, count(*) over () as n from employees",
    ),
    "share_of_total": (P, "select emp_id, salary - max(salary) over (partition by dept_id) as gap from employees"),
    "running_sum": (P, "select emp_id, sum(salary) over (order by hired) as s from employees"),
    "rows_frame": (
        S,
        "select emp_id, sum(dept_id) over (order by emp_id rows between 1 preceding and 1 following) as s from employees",
    ),
    "min_over_frame": (
        P,
        "select emp_id, min(salary) over (partition by active order by emp_id rows between unbounded preceding and current row) as m from employees",
    ),
    "window_over_groups": (
        P,
        "select dept_id, sum(salary) as s, rank() over (order by count(*) desc, dept_id) as r from employees group by dept_id",
    ),
}

ORDERS = {
    "order_by": (P, "select ename, emp_id from employees order by ename, emp_id"),
    "order_by_desc_nulls": (S, "select salary, emp_id from employees order by salary desc, emp_id"),
    "order_by_nulls_last": (S, "select salary, emp_id from employees order by salary nulls last, emp_id"),
    "order_by_nulls_first": (P, "select salary, emp_id from employees order by salary nulls first, emp_id"),
    "limit": (P, "select salary, emp_id from employees order by salary desc, emp_id limit 3"),
    "limit_offset": (P, "select dept_id, emp_id from employees order by dept_id, emp_id limit 2 offset 2"),
    "limit_with_equal_rows": (S, "select role from assignments order by role limit 4"),
    "limit_groups": (
        S,
        "select dept_id, count(*) as n from employees group by dept_id order by n desc, dept_id limit 2",
    ),
    "limit_inside": (
        P,
        "select count(*) as n, sum(s) as t from (select salary as s, emp_id from employees order by salary desc, emp_id limit 3) q",
    ),
    "limit_union": (P, "select city from departments union select city from stores order by city limit 2"),
}

SUITE: dict[str, tuple[str, ...]] = {
    **JOINS, **CONDITIONS, **GROUPS, **SETS, **SUBQUERIES, **WINDOWS, **ORDERS, **ANALYTICS, **SCALARS, **ORDERED, **TIMES,
    **CLAUSES, **FORMS, **LISTS,
}  # fmt: skip
