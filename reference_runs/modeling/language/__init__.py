"""Language models: decoder configs, corpora, token files, bases to start from, pretraining."""
