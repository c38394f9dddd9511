"""What `podium rcp` shows: judgements, plans, points, faults of points, records, plots."""
