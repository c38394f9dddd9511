"""Answers for programs, over the Model Context Protocol."""
