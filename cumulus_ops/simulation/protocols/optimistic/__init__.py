"""The **optimistic switches** of the semester paper (sections 3.2 to 3.5): no node ever waits to read, and what was read too early is corrected.

Several switches give updates their timestamps (TS) in an introduced total order, and tell nodes what to read and to write::

    switch ──FETCH──► read node ──PUSH──► write node ◄──PUT── switch
                      read node ──corrective update──► write node ──corrective update──► ...

Modules, along the way of an update: :mod:`.switch` (and the client), :mod:`.dispatch` (who reads and writes what), :mod:`.inbox` (the buffer), :mod:`.node`,
:mod:`.logs` (WriteLog, ReceiveLog, SendLog, OperationLog), :mod:`.corrections`, :mod:`.epochs` (EPOCH END, READY, COMMIT); :mod:`.messages` has all
messages, :mod:`.system` what is watched.
"""

from cumulus_ops.simulation.protocols.optimistic.system import OPTIMISTIC

__all__ = ["OPTIMISTIC"]
