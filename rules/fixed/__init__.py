"""A rule that no table states, as one value: its class, its examples, its former ids.

Imports `finding` only.
"""
