"""Write the tree of a plan: copy files, check and swap in the tree, write receipt and summary.

Imports `planning` and `receipt`, but nothing of `git`.
"""
