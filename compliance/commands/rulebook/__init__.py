"""Panel Rules: the rules themselves, by round, benchmark and division.

They may import `rulebook` and `report`.
"""
