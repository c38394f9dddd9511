"""A whole submission judged: tree, systems, results together, documents.

Imports results and below.
"""
