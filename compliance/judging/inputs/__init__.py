"""What lies below a path: logs, submissions, rounds, code, and by which rules.

Imports report and below.
"""
