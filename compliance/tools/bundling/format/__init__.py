"""The archive: which files go in, tar, compression, hashes, and what an unpacked member may be.

Imports no other part of `compliance` but `errors` and `report.terminal`.
"""
