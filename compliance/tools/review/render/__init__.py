"""What a review is shown as: pages with their curves, texts for a terminal, the folder of all."""
