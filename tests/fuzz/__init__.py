"""Targets of coverage-guided fuzzing, their seeds, and the command that runs them."""
