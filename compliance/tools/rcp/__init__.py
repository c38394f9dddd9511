"""`podium rcp`: reference convergence points checked, planned, shown, made.

Imports scoring and below.
"""
