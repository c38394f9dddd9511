"""Atomic files, the standard streams, and libraries of extras.

Imports only the errors.
"""
