"""Initialise and open a project: its program, its catalog, and whether its state folder and catalog belong together."""
