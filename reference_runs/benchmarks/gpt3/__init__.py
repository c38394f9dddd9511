"""Large language model pretraining: GPT-3 175B."""
