"""Language models: decoder configs, corpora, token files, base models, pretraining."""
