"""Cosmology: parameters of a universe from its matter, by CosmoFlow."""
