"""The rules on the runs of one result, as values."""
