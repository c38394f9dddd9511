"""`check`: finding files, judging them in processes, one report. Imports submission and below."""
