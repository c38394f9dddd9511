"""Data shared by several training rounds: schedules, precisions, replayed checks, tensors."""
