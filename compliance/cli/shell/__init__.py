"""No panel of the help: completion by the shell, and the manual page.

They read every other command's declaration, and may import `inputs`, `rulebook` and `report`.
"""
