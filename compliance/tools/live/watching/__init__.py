"""`podium watch`: logs followed while they grow, their state, forecast and pages.

Imports `partial` and the modules of `live`.
"""
