"""Resuming an interrupted run: checkpoints, random generators, the open log."""
