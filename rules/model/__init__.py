"""What a round is made of: benchmarks, limits, schedules, a package's rules, and their delta."""
