"""Compare the tables with an installed official checker: generated logs are checked with both.

The official checker runs in separate processes.
"""
