"""What a run finds on its machine: processes, number types, and torch's messages."""
