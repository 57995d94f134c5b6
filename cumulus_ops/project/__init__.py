"""What a project is: its settings, its file, and what all rooms agree on (names, errors, versions, verdicts, the rhythm of epochs)."""
