"""A rule outside the tables, as one value: its class and its examples.

Imports `finding` only.
"""
