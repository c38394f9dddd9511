"""Bytes of a log to records and faults, in every dialect since 0.5. Imports `keys` only."""
