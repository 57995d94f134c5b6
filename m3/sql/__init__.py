"""SQL -> algebra, in ordered passes. The only package that knows sqlglot.

==============================  ============================================================================
:mod:`~m3.sql.places`           text -> syntax, and where it stands; what nobody reads is refused
:mod:`~m3.sql.tables`           the views that it reads become WITH queries; FROM, set operations and VALUES are resolved
:mod:`~m3.sql.rewrites`         syntax -> less syntax: one spelling for each aggregate and window, series and spans of time
                                (:mod:`~m3.sql.series`) and ASOF joins (:mod:`~m3.sql.asof`) as plain queries
:mod:`~m3.sql.resolve`          syntax -> resolved queries (:mod:`~m3.sql.block`, immutable): names, types, stars;
                                expressions by :mod:`~m3.sql.expressions` and :mod:`~m3.sql.functions`, aggregates by
                                :mod:`~m3.sql.calls`, windows by :mod:`~m3.sql.windows`
:mod:`~m3.sql.normalise`        the same in normal form: single conditions, what is read, what may be done early
:mod:`~m3.sql.select`           resolved queries -> bags of rows (:class:`m3.algebra.rows.Rows`), clause by clause:
                                :mod:`~m3.sql.joining` (FROM and subqueries), :mod:`~m3.sql.grouping` and
                                :mod:`~m3.sql.aggregates`, :mod:`~m3.sql.windows`;
                                what is correlated is decorrelated by :mod:`~m3.sql.correlation`
:mod:`~m3.sql.view`             bags and groups -> what is maintained, and what is left for when the view is read
==============================  ============================================================================

Each has a before and after in its docstring; :mod:`~m3.sql.show` writes queries as text.
"""
