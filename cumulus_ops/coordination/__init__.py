"""How much order a program needs (Blazes, sections 4 and 5, for the case that matters most here), and its versions accordingly.

What names nothing of versions is light: DAG files read plans.
"""
