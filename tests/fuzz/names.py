"""The names of the targets, which need none of what they fuzz."""

NAMES = ("reader", "toml", "system", "unpack", "renderers")
