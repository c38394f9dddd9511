"""Large language model pretraining: Llama 3.1, 8B and 405B."""
