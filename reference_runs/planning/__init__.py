"""Steps taken as shapes only; the memory that ranks need: `podium run --plan`."""
