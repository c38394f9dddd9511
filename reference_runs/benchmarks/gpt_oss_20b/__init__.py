"""Mixture-of-experts pretraining: GPT-OSS 20B."""
