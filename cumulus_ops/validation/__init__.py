"""Validation: every snapshot is compared with full recomputation on Spark SQL.

A snapshot's way: :mod:`.run` asks (:mod:`.request`), :mod:`.recompute` runs each view's SQL, which :mod:`.meaning` has written out for Spark, over the
log; :mod:`.checkpoint` has Great Expectations (:mod:`.data_docs`) evaluate our expectations, for which :mod:`.judge` compares the tables
(:mod:`.comparison`); :mod:`.reports` writes the page over all of them. :mod:`.finals` does the same for what is final before its epoch.

The heavy parts are imported where they are used: Spark by :mod:`.checkpoint` and :mod:`.recompute`, Great Expectations by :mod:`.data_docs`.
"""
