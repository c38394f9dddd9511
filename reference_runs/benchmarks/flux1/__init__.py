"""Text to image: FLUX.1 schnell, trained from random weights."""
