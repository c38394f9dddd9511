"""Why the written policy and the official verifier differ, where several rows share the reason."""

PRESENCE = "the official verifier only looks for the key; the policy fixes its value"
NOT_CHECKED_BY_VERIFIER = (
    "the official verifier does not look at the key; the policy fixes its value"
)
FIXED = "the official verifier takes any size; the policy fixes the reference's"
WHOLE = "the policy asks for a whole number; the official verifier takes any"
COUNTED = "the policy leaves the number free; a part of a step or of an epoch may be a slip"
SAMPLES = "what the policy's table does not list is as in the reference: so is the data set"
UNITS = (
    "what the policy's table does not list is as in the reference: so is the data set, which logs "
    "count in images or in batches"
)
TRAINED = (
    "logs give the data set or what was trained on; no run trains on less than one evaluation waits"
)
OPTIMIZER = "the official verifier does not look at the optimizer's name"
OPEN_FREE = "the open division may change it; the policy fixes it for the closed division only"
OPEN_TARGET = "the open division may stop at any quality; the policy asks for the metric only"
OPEN_LOSS = "the metric is a loss, which an upper bound of 1 says nothing about; open has no target"
