"""A packed tree in a clone of the review repository: branch, commit, push, changes of a branch.

Imports `planning` and `writing`; the only folder that may import GitPython. `process` runs git,
`directory` looks at the files that git will read, `settings`, `borrowed` and `isolated` replace
what a clone says, and `objects` and `compare` read what a commit has.
"""
