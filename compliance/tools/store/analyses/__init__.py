"""What papers and press ask of results, each as a table with its method: docs/analysis.md."""
