"""The parts of a round: benchmarks, limits, schedules, package rules, and their changes."""
