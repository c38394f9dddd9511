"""Whether the tables still say what an installed official checker does: made logs, asked of both.

Imports `tables`, `logs` and `checking`'s processes; the checker itself runs in processes apart.
"""
