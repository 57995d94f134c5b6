"""A grammar-based fuzzer of SQL views: random queries, random events, checked against DuckDB after every batch.

A seed makes a query (:mod:`~tests.fuzz.queries`) and a stream (:mod:`~tests.fuzz.schema`). The query is compiled and
follows the stream in the interpreter, DuckDB follows it in plain tables, and after every batch (and before the first)
the view's rows must be DuckDB's; when everything is deleted again, the maps must be as they were at the start.

``python -m tests.fuzz --seed 0 --count 500 --quiet`` shows what failed and a table by feature. ``--only F`` keeps the
queries that use a feature, ``--without F`` switches one (or its group: ``sub``, ``window``, ``set``) off, ``--shrink 20``
makes each failure small for up to 20 seconds, ``--sql '...'`` checks a query of your own on the seed's events, and
``--looked-up`` has every join read table by table (:mod:`~tests.fuzz.lookups`). The features and their weights are in
:mod:`~tests.fuzz.draw`; about a third of them is off for any one seed, so that the others meet.

``pytest tests/fuzz`` checks 1,000 seeds, every third looked up; ``FUZZ_COUNT`` and ``FUZZ_SEED`` ask for others. A failure
prints the query and the events, made small, as the two files of a regression: put them into ``tests/fuzz/regressions``, where
they are replayed from then on.

Some expressions may fail: divisions and remainders with and without guards, casts of texts, products of integers, dates. A
view whose error would be missed is found by asking DuckDB with different values in place of what fails
(:mod:`~tests.fuzz.failing`); of a view in error only is checked that it becomes right again.

What the grammar avoids, because DuckDB's answer is not the only right one: floating-point values in keys, in comparisons for equality and in sums (what DuckDB computes in DOUBLE, AVG, / and STDDEV, is
an ``approx`` column: it may be selected and compared with a whole number, no more), LIMIT and numbering without a total order,
CASE over sums with different numbers of decimals (which DuckDB rounds to the fewest).
Queries that DuckDB refuses (outer joins in correlated subqueries, mostly) are ``invalid`` and not counted.
"""
