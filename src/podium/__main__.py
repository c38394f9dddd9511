"""`python -m podium` is the command `podium`."""

from podium.compliance.cli import main

main()
