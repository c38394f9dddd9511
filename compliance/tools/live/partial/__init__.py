"""What may be said of a run that is not finished: certain findings, missing keys, reference points.

Imports `logs` and `results.convergence`, nothing else of `live`.
"""
