"""**Pipeline scheduling** (system section, "Distributing the Switch"): several switches, no locks, and a clock for the nodes to go by.

::

    switch ──TENTATIVE PUT──► participating nodes ──CURRENT TICK──► switch ──MAXIMUM TICK──► participating nodes
    node of a source, when tick T + its depth is done ──PUSH──► node of a target, which evaluates in tick T + its depth

Time is cut into numbered ticks by each node's own clock; the clocks are synchronised loosely. An event is posted at the maximum tick T that the participating
nodes return, and a map of depth d is updated in tick T + d, as in a processor's pipeline. A map is read in the tick in which its own updates of that event are due,
as many ticks before the PUT as the depths differ: M1, M2, M4 of depths 2, 1, 0 and an event posted at 2, M1 is updated in tick 4, with M2 as
of tick 3 and M4 as of tick 2. (The figure's reference to "M1 during tick 2" is a misprint for M4.) In a cycle no depths differ, so programs must be acyclic.

The order that this introduces is (tick, switch, sequence), which the simulator's versions have for (epoch, coordinator, sequence). It need not be the order in which
a switch got its events: a later one may meet nodes whose clocks are behind.

The paper has no epochs here. None are needed for a snapshot: where map by map tick T + depth is done, there is the state after all events posted up to
T, and no message has to be sent. So each node keeps its maps at the last tick of every epoch and reports them.

Options: ``ticks`` per epoch; ``skew``, by how many ticks clocks may differ; ``coalescing``, one PUSH for all that a tick sends to a node.
"""
