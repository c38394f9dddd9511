"""The version of podium, as reports and `podium --version` give it, and as it is packaged."""

VERSION = "0.1.0"
