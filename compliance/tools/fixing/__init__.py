"""Fix mechanical errors of a submission: names, JSON files, junk, permissions; never a log."""
