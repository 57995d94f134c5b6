"""The life of an epoch: mini-batches, corrections, votes, the checkpoint, final partitions. What is next in it, :mod:`.policy` decides."""
