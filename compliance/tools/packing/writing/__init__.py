"""A plan made real: files copied, the tree judged and swapped in, receipt and summary written.

Imports `planning` and `receipt`, nothing of `git`.
"""
