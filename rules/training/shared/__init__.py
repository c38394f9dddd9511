"""What several rounds of training share: schedules, precisions, replayed checks, tensor names."""
