"""The contestants, one module each; what runs in a process or environment of its own is a script beside it."""
