"""Panel Judge: commands that check logs, before, during and after a run.

They may import `checking`, `live`, `scoring`, `review` and `report`.
"""
