"""`python -m podium` is the command `podium`."""

from podium.compliance.cli.entry import main

main()
