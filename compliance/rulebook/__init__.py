"""Views of the rules: examples, explanations, differences between rounds, worked-out values."""
