"""Functions of scalars that people write, as in :mod:`tests.unit.m3.sql_suite`; where DuckDB says it otherwise, with its text."""

from __future__ import annotations

P, S, D = "postgres", "spark", "duckdb"

SCALARS: dict[str, tuple[str, ...]] = {
    "trigonometry": (
        P,
        "select emp_id, sin(salary) as a, cos(salary) as b, tan(salary) as c, asin(emp_id / 10.0) as d, acos(emp_id / 10.0) as e, atan(salary) as f, atan2(salary, emp_id) as g, cot(emp_id) as h from employees",
    ),
    "hyperbolic": (
        P,
        "select emp_id, sinh(emp_id) as a, cosh(salary) as b, tanh(salary) as c, asinh(salary) as d, acosh(emp_id) as e, atanh(emp_id / 10.0) as f from employees",
    ),
    "logarithms": (
        S,
        "select emp_id, ln(emp_id) as a, log10(emp_id) as b, log2(emp_id) as c, log(3, emp_id) as d, exp(salary) as e, cbrt(salary) as f, degrees(salary) as g, radians(salary) as h from employees",
    ),
    "difference_of_timestamps": (
        P,
        "select r.device, s.at - r.at as span from readings r join readings s on r.device = s.device",
        "select r.device, (epoch_us(s.at) - epoch_us(r.at)) / 1000000 as span from readings r join readings s on r.device = s.device",
    ),
    "average_span": (
        P,
        "select device, sum(at - timestamp '2024-03-01 00:00:00') as t, avg(extract(epoch from (at - timestamp '2024-02-01 00:00:00'))) as a from readings group by device",
        "select device, sum(epoch_us(\"at\") - epoch_us(timestamp '2024-03-01 00:00:00')) / 1000000 as t, avg(epoch_us(\"at\") - epoch_us(timestamp '2024-02-01 00:00:00')) / 1000000 as a from readings group by device",
    ),
    "span_against_interval": (
        P,
        "select r.device, s.at from readings r join readings s on r.device = s.device where s.at - r.at > interval '10 minutes' and s.at - r.at between interval '1 hour' and interval '1 day 5 hours'",
    ),
    "double_as_decimal": (
        P,
        "select emp_id, cast(salary / 8.0 as double precision)::decimal(12, 3) as a, round((salary::float8)::numeric, 1) as b from employees",
        "select emp_id, cast(cast(salary as decimal(12, 5)) * 0.125 as decimal(12, 3)) as a, round(salary, 1) as b from employees",
    ),
    "octets": (
        P,
        "select emp_id, octet_length(ename || 'ß日') as n from employees",
        "select emp_id, octet_length(encode(ename || 'ß日')) as n from employees",
    ),
    "positive_remainder": (
        S,
        "select emp_id, pmod(emp_id - 5, 3) as a, pmod(salary, 7) as b, pmod(2 - emp_id, -3) as c from employees",
        "select emp_id, ((emp_id - 5) % 3 + 3) % 3 as a, (salary % 7 + 7) % 7 as b, case when (2 - emp_id) % -3 < 0 then ((2 - emp_id) % -3 - 3) % -3 else (2 - emp_id) % -3 end as c from employees",
    ),
    "try_cast": (
        D,
        "select emp_id, try_cast(ename as integer) as a, try_cast(case when salary > 10 then '2024-02-30' else '2024-02-28' end as date) as b, try_cast(cast(salary as varchar) as decimal(4, 1)) as c, try_cast(case when active then 'true' else ename end as boolean) as d from employees",
    ),
    "not_a_number": (
        S,
        "select emp_id, isnan(cast(salary as double)) as a, isnan(try_cast(case when active then 'NaN' else '1.5' end as double)) as b from employees",
        "select emp_id, coalesce(isnan(cast(salary as double)), false) as a, coalesce(isnan(try_cast(case when active then 'NaN' else '1.5' end as double)), false) as b from employees",
    ),
    "comparisons_of_nan": (
        D,
        "select emp_id, x = 'NaN'::double as a, x <> 'NaN'::double as b, x > 3 as c, x <= 'Infinity'::double as d, x in (2, 'NaN'::double) as e, x between 2 and 'NaN'::double as f, x is distinct from 'NaN'::double as g from (select emp_id, try_cast(case when active then 'NaN' when emp_id = 1 then 'Infinity' else cast(emp_id as varchar) end as double) as x from employees) as q",
    ),
    "nan_is_the_greatest": (
        D,
        "select count(*) as n, max(x) as a, min(x) as b, count(distinct x) as c from (select try_cast(case when active then 'NaN' when emp_id = 1 then 'Infinity' else cast(emp_id as varchar) end as double) as x from employees) as q where x >= 2",
    ),
    "statistics_over_frames": (
        D,
        "select emp_id, stddev_pop(salary) over (partition by dept_id) as a, variance(emp_id) over (order by emp_id rows between 2 preceding and current row) as b, stddev(salary) filter (where active) over w as c, stddev(salary) over (partition by dept_id order by emp_id) - var_pop(emp_id) over w as d from employees window w as (partition by dept_id)",
    ),
    "windows_over_nan": (
        D,
        "select emp_id, rank() over (order by x desc nulls last) as a, count(*) over (partition by x) as b, max(x) over () as c, min(x) over (order by x, emp_id) as d from (select emp_id, try_cast(case when active then 'NaN' when emp_id = 1 then 'Infinity' else cast(emp_id as varchar) end as double) as x from employees) as q",
    ),
    "joins_on_nan": (
        D,
        "select a.emp_id, b.emp_id as other from (select emp_id, try_cast(case when active then 'NaN' when emp_id = 1 then 'Infinity' else cast(emp_id as varchar) end as double) as x from employees) as a join (select emp_id, try_cast(case when active then 'NaN' when emp_id = 1 then 'Infinity' else cast(emp_id as varchar) end as double) as x from employees) as b on a.x = b.x or a.x < b.x - 5",
    ),
    "rests_by_zero": (
        D,
        "select emp_id, emp_id % (dept_id - 2) as a, emp_id // (dept_id - 2) as b, mod(salary, dept_id - 1) as c, emp_id % 0 as d from employees",
    ),
    "quotients_by_zero": (
        "mysql",
        "select emp_id, emp_id / (dept_id - 2) as a, emp_id % (dept_id - 2) as b, salary / nullif(dept_id, 1) as c from employees",
    ),
    "a_failing_branch_that_is_not_taken": (
        P,
        "select emp_id, case when false then 1 / 0 when emp_id < 0 then 1 / 0 else 1 end as a from employees",
        "select emp_id, 1 as a from employees",
    ),
    "whole_doubles": (
        D,
        "select emp_id, floor(x) as a, ceil(x) as b, floor(-x) as c, ceil(-x / 3) as d, floor(x * 1e30) as e, ceil(x) + 0.5 as f from (select emp_id, cast(salary as double) / 3 as x from employees) as q",
    ),
    "numbers_in_quotes": (
        P,
        "select emp_id, emp_id + '2' as a, '7' - emp_id as b, salary * '1.5' as c, salary / '4' as d, emp_id % '3' as e from employees",
        "select emp_id, emp_id + 2 as a, 7 - emp_id as b, salary * 1.5 as c, salary / 4 as d, emp_id % 3 as e from employees",
    ),
    "numbers_in_quotes_of_spark": (
        S,
        "select emp_id, emp_id + '2' as a, salary * '1.5' as b, emp_id - '3' as c from employees",
        "select emp_id, emp_id + 2 as a, cast(salary as double) * 1.5 as b, emp_id - 3 as c from employees",
    ),
    "without_case": (
        P,
        "select emp_id, ename ~* '^[A-C].*N' as a, ename !~* 'BO+' as b, regexp_like(ename, 'N{1,2}$', 'i') as c, ename ~* '\\DY' as d from employees",
        "select emp_id, regexp_matches(ename, '(?i)^[A-C].*N') as a, not regexp_matches(ename, '(?i)BO+') as b, regexp_matches(ename, '(?i)N{1,2}$') as c, regexp_matches(ename, '(?i)\\DY') as d from employees",
    ),
    "matches": (
        D,
        "select emp_id, regexp_replace(ename, '[AEIOU]+', '-', 'g') as a, regexp_replace(ename, '(.)[A-Z]', '<\\1>') as b, regexp_extract(ename, '[A-Z](.)', 1) as c, regexp_extract(ename, 'x', 0) = '' as d from employees",
    ),
    "bits_of_texts": (P, "select emp_id, bit_length(ename || 'ß') as n from employees"),
    "unless_nan": (
        S,
        "select emp_id, nanvl(try_cast(case when active then 'NaN' else '1.5' end as double), 0.25) as a, nanvl(emp_id, 1) as b from employees",
        "select emp_id, case when isnan(x) then 0.25 else x end as a, emp_id as b from (select emp_id, try_cast(case when active then 'NaN' else '1.5' end as double) as x from employees) as q",
    ),
    "sums_of_null": (
        D,
        "select dept_id, sum(null) as a, avg(null) as b, count(null) as c, max(null) as d from employees group by dept_id",
    ),
    "hours_of_half_days": (
        P,
        "select device, to_char(at, 'YY-MM-DD DDD HH:MI AM') as a, to_char(at, 'HH12:MI:SS.US') as b from readings",
        "select device, strftime(\"at\", '%y-%m-%d %j %I:%M %p') as a, strftime(\"at\", '%I:%M:%S.%f') as b from readings",
    ),
    "escaped_texts": (
        P,
        "select emp_id, replace(ename, E'n\\'', 'x') as a, ename || E'\\n' as b from employees",
        "select emp_id, replace(ename, 'n' || chr(39), 'x') as a, ename || chr(10) as b  from employees",
    ),
    "bits": (
        P,
        "select emp_id, emp_id & 3 as a, emp_id | dept_id as b, emp_id # 5 as c, ~emp_id as d, (-emp_id) & 12 as e from employees",
        "select emp_id, emp_id & 3 as a, emp_id | dept_id as b, xor(emp_id, 5) as c, ~emp_id as d, (-emp_id) & 12 as e from employees",
    ),
    "names_of_days": (
        S,
        "select emp_id, date_format(hired, 'E, dd MMM yyyy') as a, date_format(hired, 'EEEE MMMM') as b from employees",
        "select emp_id, strftime(hired, '%a, %d %b %Y') as a, strftime(hired, '%A %B') as b from employees",
    ),
    "try_to_timestamp": (
        S,
        "select emp_id, try_to_timestamp(case when active then '2024-03-01 12:30:00' else ename end) as a from employees",
        "select emp_id, try_cast(case when active then '2024-03-01 12:30:00' else ename end as timestamp) as a from employees",
    ),
    "make_timestamp": (
        P,
        "select emp_id, make_timestamp(2024, emp_id, emp_id + 20, emp_id * 2, 59, 7.125) as a, make_timestamp(2023, 2, 28, 0, dept_id, emp_id) as b, make_date(2000 + dept_id * 4, 2, 29) as c from employees",
    ),
    "json_access": (
        D,
        """select emp_id, x ->> 'n' as a, x -> 'l' ->> 1 as b, json_extract_string(x, '$.o.k') as c, x ->> '$.o' as d, (x ->> '$.l[0]')::int as e, x ->> 'missing' as f from (select emp_id, '{"n": "' || ename || '", "l": [' || emp_id || ', null, "é"], "o": {"k": true, "m": []}}' as x from employees) q""",
        """select emp_id, x ->> 'n' as a, x -> 'l' ->> 1 as b, json_extract_string(x, '$.o.k') as c, x ->> '$.o' as d, (x ->> '$.l[0]')::int as e, x ->> 'missing' as f from (select emp_id, '{"n": "' || ename || '", "l": [' || emp_id || ', null, "é"], "o": {"k": true, "m": []}}' as x from employees) q""",
    ),
    "json_that_is_none": (
        S,
        "select emp_id, get_json_object(ename, '$.a') as a, get_json_object(case when active then '{\"a\": [1, 2]}' else ename end, '$.a[1]') as b from employees",
        "select emp_id, cast(null as varchar) as a, case when active then '2' end as b from employees",
    ),
    "functions_of_the_dictionary": (
        D,
        "select emp_id, md5(ename) as a, sha256(ename) as b, strlen(ename || 'ß') as c, dayname(hired) as d, monthname(hired) as e, bit_count(emp_id) as f, levenshtein(ename, 'ANNE') as g from employees",
    ),
    "functions_of_the_dictionary_in_spark": (
        S,
        "select emp_id, sha(ename) as a, sha2(ename, 0) as b, positive(salary) as c, negative(emp_id) as d, nullifzero(emp_id - 2) as e, dayname(hired) as f, sec(salary) as g from employees",
        "select emp_id, sha1(ename) as a, sha256(ename) as b, salary as c, -emp_id as d, nullif(emp_id - 2, 0) as e, dayname(hired)[:3] as f, 1.0 / cos(salary) as g from employees",
    ),
}
