"""Catalysis: forces on the atoms of a surface and what it catalyses, by DimeNet++."""
