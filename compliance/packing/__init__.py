"""`podium pack`: plan, copy, check, swap in, receipt. Imports checking and below."""
