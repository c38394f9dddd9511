"""`podium rcp curves`: what logs and experiment trackers recorded of a run's quality."""
