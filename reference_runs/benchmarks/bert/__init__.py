"""Language model: BERT, which foretells masked words and whether one text follows another."""
