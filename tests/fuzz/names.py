"""The names of the targets. This module does not import the code that is fuzzed."""

NAMES = ("reader", "toml", "system", "unpack", "renderers")
