"""The version of podium, for reports, `podium --version` and the package."""

VERSION = "0.2.0"
