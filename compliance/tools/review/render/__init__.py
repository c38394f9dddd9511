"""The output of a review: pages with curves, text for a terminal, and the folder with all files."""
