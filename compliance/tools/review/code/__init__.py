"""The code of a round: what each submitter has that nobody has reviewed yet."""
