"""The dataflow of a program as a picture: one SVG file that needs nothing else."""

from m3.picture.drawing import to_svg
from m3.picture.layout import Box, Layout, lay_out

__all__ = ["Box", "Layout", "lay_out", "to_svg"]
