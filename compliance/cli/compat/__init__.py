"""What each official MLCommons tool prints and its exit status, by its own arguments.

Imports `checking`, `repository`, `scoring`, `rcp` and `systems`; only `commands` imports it.
"""
