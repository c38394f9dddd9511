"""`podium review`: a whole round read once; comparisons, anomalies, objections and their states.

Imports `history` and below.
"""
