"""Answers for programs, by the Model Context Protocol."""
