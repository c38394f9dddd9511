"""Panel Score and converge: times to train and reference convergence points.

They may import `judging`, `reporting` and `tools`.
"""
