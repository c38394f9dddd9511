"""A packed tree in a clone of the review repository: branch, commit, push, changes of a branch.

Imports `planning` and `writing`; the only folder that may import GitPython.
"""
