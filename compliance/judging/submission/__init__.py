"""The check of a whole submission: tree, systems, results together, documents.

Imports results and below.
"""
