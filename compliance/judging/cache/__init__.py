"""The cache of a check: outcomes by content, in the user's own folder."""
