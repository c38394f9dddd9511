"""What a check keeps for the next one: outcomes by content, in the user's own folder."""
