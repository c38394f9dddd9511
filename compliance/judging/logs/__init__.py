"""One log: its verdict in each profile, and the facts that submissions need.

Imports repository and below.
"""
