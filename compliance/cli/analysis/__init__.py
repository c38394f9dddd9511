"""Commands that look at many rounds together.

A command loads what its call needs.
"""
