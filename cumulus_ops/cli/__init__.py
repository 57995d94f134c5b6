"""The ``cumulus`` command."""
