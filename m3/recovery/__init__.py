"""Causal logging with tree clocks: a node that fails is rolled back and replayed, and nobody else (decisions 73, 74 and 82).

The algorithms alone: no I/O, no clock, no thread; whoever hosts them brings messages, time and durable storage. In the order of the data:
:mod:`~m3.recovery.graph` (who sends to whom), :mod:`~m3.recovery.clock` (what a message descends from), :mod:`~m3.recovery.logs` (what is kept of
it), :mod:`~m3.recovery.messages`, :mod:`~m3.recovery.hosting` (what a host brings and stores), :mod:`~m3.recovery.sending` (what a node holds and sends),
:mod:`~m3.recovery.node` (what it processes), :mod:`~m3.recovery.controller` (who failed, and who tells whom what), :mod:`~m3.recovery.replaying` (what a
restarted node waits for), :mod:`~m3.recovery.table` (in which order inputs are processed again).

**How it is hosted.** Each node is a :class:`~m3.recovery.node.Node`: give it what arrives (``receive``), and send what it returns: ``Data``, ``Mark`` and ``Stable``
to their ``target``, ``Report``, ``Started`` and ``Recovered`` to the controller. Call ``housekeeping`` now and then, and ``checkpoint`` of a node with state, and store
what that returns durably. The :class:`~m3.recovery.controller.Controller` returns orders: ``Hold``, ``Ask`` and ``Resume`` go to ``node`` by ``receive``; for a ``Start``
make the node's next life with ``Node.restart``. Between two ends messages must arrive in the order in which they were sent, orders as well.

Sections are those of the thesis on tree clocks for Noria, which docs/papers.md calls **T**.
"""
