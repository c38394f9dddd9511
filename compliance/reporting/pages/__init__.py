"""Folders of HTML pages: the frame, style and scripts that all share, and names of their files."""
