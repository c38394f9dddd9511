"""The emitter: writes the records of a training run. Imports the keys, and the reader's record.

`podium` passes the function that makes the guard of a round to `round_guard.use`.
"""
