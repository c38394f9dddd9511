"""Callbacks that log a run trained by a framework; each module imports its framework lazily."""
