"""Analysis of traces of torch.profiler: busy and idle time, critical path, collectives, kernels."""
