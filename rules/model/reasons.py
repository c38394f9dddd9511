"""Reasons why the written policy and the official verifier differ that several rows share."""

PRESENCE = "the official verifier only requires the key; the policy fixes its value"
NOT_CHECKED_BY_VERIFIER = "the official verifier ignores the key; the policy fixes its value"
FIXED = "the official verifier accepts any size; the policy requires the size of the reference"
WHOLE = "the policy requires a whole number; the official verifier accepts any number"
COUNTED = "the policy leaves the number free; a fraction of a step or of an epoch may be a mistake"
SAMPLES = (
    "values that the policy's table does not list, such as the data set, are as in the reference"
)
UNITS = (
    "values that the policy's table does not list, such as the data set, are as in the "
    "reference; logs count it in images or in batches"
)
TRAINED = (
    "logs give either the size of the data set or the number of trained samples; a run trains at "
    "least until its first evaluation"
)
OPTIMIZER = "the official verifier ignores the name of the optimizer"
OPEN_FREE = "the open division may change it; the policy fixes it for the closed division only"
OPEN_TARGET = "the open division may stop at any quality; the policy requires only the metric"
OPEN_LOSS = "the metric is a loss, so an upper bound of 1 is meaningless; open has no target"
