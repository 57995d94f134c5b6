"""Validation: every snapshot is compared with full recomputation on Spark SQL.

The heavy parts (Great Expectations, Spark) are in :mod:`.checkpoint` and :mod:`.recompute` and imported where used.
"""
