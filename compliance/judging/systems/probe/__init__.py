"""What a machine is made of, found out by asking it; what cannot be found is left to a person."""
