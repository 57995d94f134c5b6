"""**Eventual consistency** with periodic snapshots (Cumulus paper, section 4; Figure 5).

Several coordinators stamp events without asking each other, and tell only the nodes that process them (:mod:`.coordinator`). Nodes follow source
aggregation (:class:`.messages.Plan`), but instead of deferring writes send them as soon as possible; a node that a write reaches late corrects what it
has computed without it (:mod:`.node`)::

    coordinator ──Notify──► processor of the written segment ──Push──► all who hold the segment ──Push, corrected──► ...

Coordinators leave epochs one after the other. Garbage collection finds out when all of an epoch has arrived (phase one, :mod:`.coordinator`), and when
nothing of it is under way any more (phase two, :class:`.coordinator.Checkpoints`); what it leaves at the nodes is a consistent snapshot. :mod:`.system` looks at the
paper's invariants, :mod:`.expected` at who sends what to whom; and :mod:`.system` says which history entries were corrected, and by how much.
"""
