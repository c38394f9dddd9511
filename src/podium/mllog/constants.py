"""Names of keys and values under which training scripts know them."""

from podium.logging_spec.mllog.constants import *  # noqa: F403 - all of them, by their names
