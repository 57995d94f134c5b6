"""apply and correct: the engine, the same on every executor.

Everything is imported on first use: a Spark worker computes, and needs neither the catalog's database libraries nor the SQL compiler;
who looks at a status computes nothing.
"""
