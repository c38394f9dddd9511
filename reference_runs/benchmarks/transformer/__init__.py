"""Translation: the big Transformer on WMT17 English-German."""
