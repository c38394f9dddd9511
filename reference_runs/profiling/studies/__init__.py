"""Comparisons of profiles: ranks, precisions, compilation, devices; and plans of many jobs."""
