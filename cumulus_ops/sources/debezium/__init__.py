"""``kind: debezium``: files of Debezium's change events.

======================  ==========================================================
:mod:`.files`           the folder's files, in their order, line by line
:mod:`.messages`        a line as a message
:mod:`.transactions`    messages as transactions: whole ones, repeats, what is missing
:mod:`.schemas`         what the columns are encoded as
:mod:`.values`          encoded values as Arrow's
:mod:`.images`          many rows at once
:mod:`.rows`            changes as rows of a relation
:mod:`.position`        how far it has been read
:mod:`.source`          spans of transactions as deliveries
======================  ==========================================================
"""
