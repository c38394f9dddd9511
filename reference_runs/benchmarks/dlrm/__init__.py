"""Recommendation: DLRM on Criteo's click logs, one id of each feature."""
