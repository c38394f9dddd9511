"""One log: its verdict according to each text, and the facts that submissions need.

Imports repository and below.
"""
