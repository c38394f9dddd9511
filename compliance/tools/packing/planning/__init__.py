"""What a tree is to hold: configuration, sources, chosen runs, conflicts with the old tree.

Imports `checking`, `inputs`, `results` and `receipt`, nothing of `writing` or `git`.
"""
