"""Modules that several models share: optimizers, norms, averages, schedules. Imports only torch."""
