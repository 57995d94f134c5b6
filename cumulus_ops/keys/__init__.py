"""Keys that mean something: what comes in is judged by what is there (docs/keys.md, decision 0028).

A relation with ``mode: strict`` or ``mode: upsert`` has a **key index**: sorted runs of what is known of each key. While a delivery is
appended, its events are looked up there, set at a time; what cannot be is quarantined, upserts and deletes by key are resolved into rows,
and what is new of the keys is committed with the batch. So the event log holds only what counts, and nobody behind it knows of keys.

=================  ==============================================================
:mod:`.stage`      the stage itself, for one append
:mod:`.judging`    events against each other and against the index
:mod:`.ranges`     ranges of keys, judged by other processes
:mod:`.columns`    keys as numbers that they are looked up by
:mod:`.runs`       the runs' files, and keys found in them
:mod:`.merging`    keeping runs few
:mod:`.building`   the index of a relation that was trusted so far; its proof
=================  ==============================================================
"""
