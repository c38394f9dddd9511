"""Folders of HTML pages: the shared frame, style and scripts, and file names."""
