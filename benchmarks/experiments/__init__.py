"""Experiments on the engine: what happens in it, rather than how fast it is beside others. Their data and pages are kept in
``docs/experiments``."""
