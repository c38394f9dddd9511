"""MLPerf HPC rounds."""

ROUNDS = ("0.7", "1.0", "2.0", "3.0")
"""Every HPC round, oldest first: each is a module here."""
