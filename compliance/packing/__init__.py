"""`podium pack`: from scattered files to the tree of the review round, planned, then written."""
