"""Parts that several models use: optimizers, norms, averages, schedules. Imports torch only."""
