"""Profiles side by side: processes, precisions, compilation, devices; and plans of many jobs."""
