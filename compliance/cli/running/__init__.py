"""Panel Run: the commands that call the bundled trainers.

The only folder that may import `podium.reference_runs`.
"""
