"""Waivers that a review has granted, and bypass flags in a tree. Imports inputs and below."""
