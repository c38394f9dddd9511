"""MLPerf Training rounds."""

ROUNDS = (
    *("0.5", "0.6", "0.7", "1.0", "1.1", "2.0", "2.1", "3.0", "3.1", "4.0", "4.1", "5.0", "5.1"),
    *("6.0", "6.1"),
)
"""Every training round, oldest first: each is a module here."""
