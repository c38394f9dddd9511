"""Reference convergence points: the figures, and the two ways to compare a result with them."""
