"""`podium rcp`: check, plan, show, lint and make reference convergence points.

Imports scoring and below.
"""
