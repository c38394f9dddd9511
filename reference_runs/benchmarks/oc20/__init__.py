"""Catalysis: forces on the atoms of a catalyst and of the adsorbed molecule, by DimeNet++."""
