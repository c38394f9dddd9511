"""A submission beside earlier trees: resubmitted, borrowed, previewed.

Imports scoring and below.
"""
