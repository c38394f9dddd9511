"""Kernel measurements: DeepBench's lists, and the kernels of a trainer's step."""
