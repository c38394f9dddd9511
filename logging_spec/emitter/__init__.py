"""The emitter: writes the records of a training run. Imports the keys, and the reader's record.

`round_guard.use` takes, from above, how the guard of a round is made.
"""
