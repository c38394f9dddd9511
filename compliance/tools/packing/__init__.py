"""Assemble the tree of a submission from scattered files: plan, write, check, swap in.

`planning` decides the path of each file. `writing` writes the tree and its receipt. `git` commits
the tree to a clone of the review repository. Each imports only its predecessors; all may import
`receipt`.
"""
