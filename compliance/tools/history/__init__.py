"""A submission compared with earlier trees: resubmitted logs, borrowed settings, previewed systems.

Imports scoring and below.
"""
