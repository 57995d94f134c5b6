"""``kind: debezium``: files of Debezium's change events.

======================  ==========================================================
:mod:`.messages`        a line as a message
:mod:`.transactions`    messages as transactions: whole ones, repeats, what is missing; how far has been read
:mod:`.columns`         what columns are encoded as, and many rows at once as Arrow's
:mod:`.rows`            changes as rows of a relation
:mod:`.source`          the folder's files line by line; spans of transactions as deliveries
======================  ==========================================================
"""
