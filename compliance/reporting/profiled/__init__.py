"""A trainer's profile as one HTML page."""
