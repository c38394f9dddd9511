"""Bundles: a submission's tree as one archive, closed or open, and the way back."""
