"""The command line: one module per command, in one folder per panel of `podium --help`.

A command's module declares arguments, calls one function and sets the exit status. `registry` and
`help` know commands by name only; a command is imported when it is called, and imports the part of
`podium.compliance` it runs inside its function. Nothing outside this folder imports it but `cli`.
"""
