"""The constraints of rule tables: bounds, formulas, order, evaluation points.

Imports `run` only.
"""
