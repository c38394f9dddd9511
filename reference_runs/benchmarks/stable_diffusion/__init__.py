"""Text to image: Stable Diffusion v2, its U-Net trained from random weights."""
