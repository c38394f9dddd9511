"""Recurrent translation: GNMT on WMT16 English-German."""
