"""Commands that analyze many rounds together.

A command loads only the modules that its call needs.
"""
