"""What may differ on each stream of an annotated dataflow, and what would avoid it (Blazes, sections IV and V).

Along the data: a file, or a program, becomes a :class:`~cumulus_ops.coordination.labelling.annotations.Dataflow` (``annotation_file``, ``topology``,
``folding``); its streams get labels (``analysis``, by the rules of ``inference`` and ``dependencies``); where one is severe, a strategy is
chosen (``strategies``), and a change that would do without (``advice``); people see it as text and as a picture (``explanation``, ``picture``).
"""
