"""A submission's tree from scattered files: planned, written beside the target, judged, swapped in.

`planning` decides what lies where, `writing` makes the tree and its receipt, `git` commits it to a
clone of the review repository; each imports only those before it, and all may import `receipt`.
"""
