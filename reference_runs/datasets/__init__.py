"""Datasets: built from published sources, and verified without training."""
