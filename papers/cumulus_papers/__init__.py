"""The papers' protocols, executable: a deterministic simulator of coordinators, nodes and messages.

A **case** (:mod:`~cumulus_papers.case`) says what is simulated. A **protocol** (:mod:`~cumulus_papers.protocols`) adds its
actors to the **kernel** (:mod:`~cumulus_papers.kernel`), which delivers messages in virtual time; the **judge**
(:mod:`~cumulus_papers.run`) compares all states with the serial interpreter's. Nothing here touches the engine.
"""
