"""Mixture-of-experts pretraining: DeepSeek-V3 671B."""
