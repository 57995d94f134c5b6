"""The compiler: SQL views -> M3 program."""
