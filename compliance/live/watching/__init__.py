"""Runs judged while they go on: what is certain, where they stand, where they are heading."""
