"""Inputs: logs, submissions, rounds and code below a path, and the choice of the rules.

Imports reporting and below.
"""
