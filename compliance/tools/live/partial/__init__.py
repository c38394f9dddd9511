"""The facts about an unfinished run: certain findings, missing keys, reference points.

Imports `judging.logs` and `judging.results`, but nothing else from `live`.
"""
