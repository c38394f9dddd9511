"""Panel Package: a submission from its skeleton to the encrypted archive.

They may import `judging`, `reporting` and `tools`.
"""
