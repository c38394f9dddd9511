"""A packed tree in a clone of the review repository: branch, commit, push, changes of a branch.

Imports `planning` and `writing`. `directory` checks the files that git will read. `settings`,
`borrowed` and `isolated` replace the configuration of a clone. `objects` and `compare` read the
content of a commit.
"""
