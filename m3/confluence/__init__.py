"""Whether the order of events is free, proved from a program's triggers alone (decision 35).

A program is **confluent** if any order of the same events ends in the same maps. It may have versions by **batch** if, besides, all
events of a relation in a batch may be added up and count as one change. Both follow where each map is a function of what the relations
contain; :mod:`m3.confluence.meaning` finds that function, :mod:`m3.confluence.meaning` compares single events where there is none.

Nothing is taken from what a map's declaration says that it means, nor from where the program comes from.
"""
