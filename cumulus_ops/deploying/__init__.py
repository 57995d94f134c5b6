"""How a project becomes another one while it runs."""
