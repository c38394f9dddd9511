"""The output and exit status of each official MLCommons tool, from the tool's arguments.

May import `judging` and `tools`; only `cli` imports it.
"""
