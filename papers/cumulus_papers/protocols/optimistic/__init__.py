"""The **optimistic switches** of the semester paper (sections 3.2 to 3.5): no node ever waits to read, and what was read too early is corrected.

Several switches give updates their timestamps (TS) in an introduced total order, and tell nodes what to read and to write::

    switch ──FETCH──► read node ──PUSH──► write node ◄──PUT── switch
                      read node ──corrective update──► write node ──corrective update──► ...

Modules, along the way of an update: :mod:`.switch` (and the client), :mod:`.node` (with its inbox), :mod:`.logs` (WriteLog, ReceiveLog, SendLog,
OperationLog), :mod:`.corrections` (who reads and writes what, what is corrected, what is held back, and how epochs end); :mod:`.messages` has all
messages, :mod:`.system` and :mod:`.updates` what is watched.

Where the paper leaves something open:

- Of one TS, FETCH comes before PUT. A statement's reads see what is below :func:`~cumulus_papers.case.read_bound`, under either semantics;
  what a sequential statement needs of an earlier one of its own update arrives as a correction.
- What one node sends another takes effect in the order in which it was sent, PUSHes and corrections alike: a correction is for slices that were sent
  before it. So what waits in the buffer is handled early where something sent after it is. For the same reason a held back correction is sent before a PUSH.
- Write nodes count the FETCHes by statement and read, since two statements may need the same slice of different nodes.
- All switches tell all nodes of an epoch's end, since a node has to know whom to wait for; it answers one of them, dealt out in turn. The last processed
  TS may lie beyond the end of the epoch, if a node knows that nothing is missing.
- Without PUTs, statements that read nothing still get one; PUSHes bring the arguments, and a suppressed PUSH goes without its slices, as there is
  nothing else to learn of the update from.
- With suppression by ``values`` the SendLog knows what the write node has. A version sent later for an earlier TSy may come between a suppressed read and
  what it relied on; then what that one needs is sent, too.
"""
