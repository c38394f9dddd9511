"""Kernels measured one by one: DeepBench's lists, and those that a trainer's step is made of."""
