"""A view's SQL, with its types and meanings written out for Spark: what is recomputed is what Cumulus declares.

Where databases differ, ``docs/sql.md`` says what a view means in its dialect. Here the same is said a second time, in Spark's
words: every number has an explicit type, every choice a common one, every function the spelling with that meaning. It shares
nothing with the compiler, the interpreter and the engine but the parser of SQL and the names of types: a mistake on one side
shows as a difference.

From the outside in: :mod:`.query` reads a query by the :mod:`.clauses` of its SELECTs; a :mod:`.reader` reads the expressions in them, by the
rules that :mod:`.rules` gathers from :mod:`.numbers`, :mod:`.texts`, :mod:`.moments`, :mod:`.logic`, :mod:`.aggregates` and :mod:`.windows`.
All of them make :mod:`.terms`, and :mod:`.exact` computes where Spark's decimals end.
"""

from cumulus_ops.validation.meaning.exact import register
from cumulus_ops.validation.meaning.query import SparkQuery, write_out

__all__ = ["SparkQuery", "register", "write_out"]
