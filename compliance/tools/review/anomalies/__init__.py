"""What is out of the way in a round: one module for each kind, each a generator of findings."""
