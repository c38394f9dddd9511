"""Rules before and during a run: the emitter's guard, preflight, watching a growing log.

`partial` decides what may be said of an unfinished run, the modules here import it, and `watching`
imports both.
"""
