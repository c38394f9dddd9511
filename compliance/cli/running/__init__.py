"""Panel Run: the one place where the tool meets the bundled trainers.

The only folder that may import `podium.reference_runs`.
"""
