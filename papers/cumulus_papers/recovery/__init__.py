"""Nodes that fail, lose what they had, and are replayed with tree clocks (thesis on tree clocks for Noria), on the simulator.

The algorithms are :mod:`m3.recovery`; here they are given time: messages travel, signs of life fail to come, checkpoints are stored now and then, and
what was in memory or under way is lost. :mod:`.work`: what nodes compute. :mod:`.system`: nodes, sources and the controller as actors.
:mod:`.judge`: whether what was done is an execution in which nothing failed. :mod:`.histories`: many random ones.
"""
