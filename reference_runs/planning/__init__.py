"""What memory a run needs on each rank, worked out without taking it: `podium run --plan`."""
