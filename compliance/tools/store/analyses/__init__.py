"""Analyses of results, each as a table with its method: docs/analysis.md."""
