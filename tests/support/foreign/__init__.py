"""SQL that others wrote, on the engine and on the database that it was written for. Their texts are not kept here.

``python -m tests.support.foreign`` says how to ask.
"""
