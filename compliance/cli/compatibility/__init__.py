"""Panel Compatibility: the official MLCommons tools by their own names and flags.

They may import `compat` and `report`.
"""
