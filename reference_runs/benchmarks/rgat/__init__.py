"""Graph node classification: a relational graph attention network on IGBH-Full."""
