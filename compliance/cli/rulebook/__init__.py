"""Panel Rules: the rules themselves, by round, benchmark and division.

They may import `rulebook`, `reporting`, and the tools that have a published schema.
"""
