"""A trainer's log: declarations, hyperparameters, and the line formats of rounds 0.5 and 0.6.

Imports the settings, configs and ranks of the engine, but not a benchmark.
"""
