"""What a review has granted, and the bypass flags in a tree. Imports inputs and below."""
