"""Shell completion and the manual page, which are in no panel of the help.

They read the declarations of all commands, and may import `judging.inputs`, `rulebook` and
`reporting`.
"""
