"""The life of an epoch: mini-batches, seals, corrections, the checkpoint, publishing.

Each part is imported on first use: who looks at a status needs no writer of tables, and who seals no executor.
"""
