"""Mechanical faults of a submission mended: names, JSON files, junk, permissions; never a log."""
