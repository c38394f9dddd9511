"""Mechanical faults of a submission fixed: names, JSON files, junk, permissions; never a log."""
