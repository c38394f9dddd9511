"""Panel Rules: the rules themselves, by round, benchmark and division.

They may import `rulebook`, `report`, and what has a published schema (`packing`).
"""
