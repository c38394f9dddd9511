"""`podium check`: discovery, checks in processes, one report. Imports submission and below."""
