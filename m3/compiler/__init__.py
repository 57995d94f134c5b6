"""The compiler: SQL views -> M3 program."""

from m3.compiler.pipeline import PASSES, STAGES, compile_views, emit

__all__ = ["PASSES", "STAGES", "compile_views", "emit"]
