"""Language model reinforcement learning: Qwen3.5 397B with GRPO."""
