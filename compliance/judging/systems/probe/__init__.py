"""A probe of the machine for a system description; a person fills in the other fields."""
