"""Plug-ins: extensions from other distributions by entry points. Imports logs and below.

Their code never runs in podium's own process. `installed` finds them without importing any.
`hosting` starts and ends the processes of plug-ins, and `messages` defines all data between them
and podium. So an error in a plug-in ends only its own process.
"""
