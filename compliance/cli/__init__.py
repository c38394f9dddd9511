"""The command line: one module per command, in one folder per panel of `podium --help`.

The module of a command declares arguments, calls one function and sets the exit status. `registry`
and `help` know commands by name only. A command is imported when it is called, and imports the part
of `podium.compliance` that it runs inside its function. Nothing outside this folder imports it.
"""
