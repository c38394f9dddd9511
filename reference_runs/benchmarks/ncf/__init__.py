"""Recommendation: neural collaborative filtering, NeuMF on MovieLens-20M."""
