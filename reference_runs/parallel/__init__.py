"""How a model is divided among ranks, by torch.distributed's own means."""
