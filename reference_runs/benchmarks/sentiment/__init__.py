"""Sentiment analysis: a convolutional classifier of film reviews."""
