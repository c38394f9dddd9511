"""Reference convergence points: the data, and the two methods to compare a result with them."""
