"""The **blocking switch** (the system section): one switch; FETCH, PUSH and PUT for each trigger; a FETCH waits for its version.

::

    switch ──PUT {event, number, number of FETCHes}──► node of the target
       └────FETCH {references, the node's version}───► node of a source ──PUSH {values}──► node of the target

    switch ──STATUS──► every node ──COMPLETED──► switch ──COMMIT──► every node          (periodically)

:mod:`.messages` finds the messages of an event, and joins what is pushed; in :mod:`.actors` the switch gives out versions and says what is committed, and
nodes wait, read, write, and keep the versions of their values; :mod:`.system` watches them. Programs with any order of statements work, cyclic ones too.

Options: ``coalescing``, one message for all that goes from one place to another for one event (semester paper, section 3.2, asks for it
per timestamp); ``rounds``, how many times per epoch the switch asks for completion.
"""
