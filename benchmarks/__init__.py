"""Benchmarks: Cumulus beside recomputation and other systems, in one session, with the answers checked.

``python -m benchmarks run`` measures, ``python -m benchmarks report`` draws what was measured. See ``README.md`` here.
"""

import cumulus_ops  # noqa: F401  # before pyarrow, for it says which allocator Arrow takes
