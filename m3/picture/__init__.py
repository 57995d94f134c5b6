"""The dataflow of a program as a picture: one SVG file that needs nothing else."""
