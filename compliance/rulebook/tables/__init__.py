"""The rules of a round's tables and checks as people read them, and what settings they allow.

Imports rules and logging_spec only: what every other folder declares is for `rulebook`.
"""
