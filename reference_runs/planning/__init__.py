"""Steps on shapes only, and the memory that ranks need: `podium run --plan`."""
