"""Checks before and during a run: the emitter's guard, preflight, watching a growing log.

`partial` has the findings that an unfinished run already determines; the modules here import it,
and `watching` imports both.
"""
