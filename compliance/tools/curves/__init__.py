"""`podium rcp curves`: the quality of a run in logs and experiment trackers."""
