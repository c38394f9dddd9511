"""Datasets before a run: made from what is published, and verified without training."""
