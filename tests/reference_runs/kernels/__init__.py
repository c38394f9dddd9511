"""Tests of podium kernels."""
