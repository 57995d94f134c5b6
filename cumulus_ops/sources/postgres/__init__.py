"""``kind: postgres``: an initial copy, then logical replication by PostgreSQL's built-in output plugin.

====================  ===============================================================
:mod:`.project`       what ``cumulus.yaml`` says
:mod:`.connection`    sessions, and what their errors mean
:mod:`.tables`        the tables as the server describes them, and what is wrong with them
:mod:`.publication`   what the server sends
:mod:`.slot`          what makes the server keep its log
:mod:`.position`      how far it has been read
:mod:`.snapshot`      the initial copy
:mod:`.changes`       a range of the log, read
:mod:`.pgoutput`      its messages as changes of relations
:mod:`.tuples`        the rows in them, column by column
:mod:`.values`        types
:mod:`.source`        ranges of the log as deliveries
====================  ===============================================================
"""
