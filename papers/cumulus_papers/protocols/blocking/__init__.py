"""The **blocking switch** (the system section): one switch; FETCH, PUSH and PUT for each trigger; a FETCH waits for its version.

::

    switch ──PUT {event, number, number of FETCHes}──► node of the target
       └────FETCH {references, the node's version}───► node of a source ──PUSH {values}──► node of the target

    switch ──STATUS──► every node ──COMPLETED──► switch ──COMMIT──► every node          (periodically)

``dispatch`` finds the messages of an event, ``collation`` joins what is pushed, ``switch`` gives out versions and says what is committed, ``node``
waits, reads, writes, and keeps the ``versions`` of its values. All orders of statements are had (:mod:`~.switch`), and cyclic programs work.

Options: ``coalescing``, one message for all that goes from one place to another for one event (semester paper, section 3.2, asks for it
per timestamp); ``rounds``, how many times per epoch the switch asks for completion.
"""
