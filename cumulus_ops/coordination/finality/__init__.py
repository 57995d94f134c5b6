"""From when on the rows of a program's views are final, by what its triggers do; nothing has to be annotated (Blazes, section VII).

``trends``: how a value can change; ``monotone``: whether a row can be taken back; ``lineage``: which columns keep the events of its rows apart;
``deciding``: at once, by seals, or with the epoch, and why; ``views``: the same as annotated components, for the labels of all that is behind them.
"""
