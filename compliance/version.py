"""The version of podium: as reports and `podium --version` give it, and the package's own."""

VERSION = "0.2.0"
