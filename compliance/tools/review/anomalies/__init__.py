"""Anomalies of a round: one module for each kind, with generators of findings."""
