"""A program explained to a person: its views, maps and re-evaluated parts, and what an event costs."""
