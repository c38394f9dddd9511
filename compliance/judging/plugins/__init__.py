"""Plug-ins: what other distributions add by entry points. Imports logs and below.

Their code never runs in podium's own process. `installed` finds them without importing any, `host`
is the process that a plug-in lives in, `hosting` starts and ends such processes, and `messages` is
all that passes between the two. What a plug-in does wrong so ends its own process only.
"""
