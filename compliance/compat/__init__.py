"""The official MLCommons tools by their own names and output. Imports scoring and below."""
