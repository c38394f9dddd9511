"""`score`: rows of results and findings about them. Imports checking and below."""
