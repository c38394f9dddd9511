"""Panel Package: a submission from its skeleton to the encrypted archive.

They may import `packing`, `bundling`, `systems`, `checking` and `report`.
"""
