"""`podium score`: rows of results, and findings about them."""
