"""Panel Check: commands that check logs before, during and after a run.

They may import `judging`, `reporting` and `tools`.
"""
