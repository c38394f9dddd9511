"""Weights that training starts from, as they are published."""
