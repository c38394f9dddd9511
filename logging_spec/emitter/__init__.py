"""The emitter: writes the records of a training run. Imports the keys, and the reader when asked.

Who judges records by a round's rules is said from above, by `round_guard.use`.
"""
