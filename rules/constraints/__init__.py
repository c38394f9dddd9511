"""The words of the rules' tables: bounds, formulas, orders, points of evaluation.

Imports `run` only.
"""
