"""Protein structure: atoms of a chain from its alignment, by AlphaFold 2 as OpenFold trains it."""
