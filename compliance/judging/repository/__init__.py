"""Names, links, sizes and secrets of the files in a tree. Imports inputs and below."""
