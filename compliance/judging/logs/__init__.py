"""One log: its verdict by either text, and the facts that packages need.

Imports repository and below.
"""
