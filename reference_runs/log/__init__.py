"""What a trainer logs: its declarations, hyperparameters, and the lines of rounds 0.5 and 0.6.

Imports the settings, configs and ranks of the engine, and no benchmark.
"""
