"""Large language model fine-tuning: Llama 2 70B with LoRA."""
