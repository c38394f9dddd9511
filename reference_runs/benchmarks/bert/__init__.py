"""Language model: BERT, which predicts masked words and whether one text follows another."""
