"""The code of a round: the lines of each submitter that have not been reviewed yet."""
