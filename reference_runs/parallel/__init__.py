"""Model parallelism across ranks, with torch.distributed."""
