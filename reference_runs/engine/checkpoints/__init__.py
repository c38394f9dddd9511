"""What continues a run that was interrupted: checkpoints, generators, the open log."""
