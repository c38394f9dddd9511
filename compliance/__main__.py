"""`python -m compliance` is `podium`."""

from compliance.cli import main

main()
