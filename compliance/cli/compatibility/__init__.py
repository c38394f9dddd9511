"""Panel Compatibility: the official MLCommons tools with their names and flags.

They may import `cli.compat` and `reporting`.
"""
