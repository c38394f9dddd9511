"""Panel Score and converge: times to train and reference convergence points.

They may import `checking`, `scoring`, `rcp` and `report`.
"""
