"""Recommendation: DLRM with the low-rank cross network of DCNv2 on multi-hot click logs."""
