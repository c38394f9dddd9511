"""The plan of a tree: configuration, sources, chosen runs, conflicts with the old tree.

Imports `receipt`, but nothing of `writing` or `git`.
"""
