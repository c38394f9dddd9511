"""The machine of a run: processes, number types, and torch's messages."""
