"""The vocabulary of a log: every standard key once, with the type of its value and its meaning.

Each module has the keys of one subject as constants. All of them are names of this package, so one
import provides the whole vocabulary. Only the standard library is imported.
"""

from podium.logging_spec.keys.hpc import *
from podium.logging_spec.keys.hyperparameters import *
from podium.logging_spec.keys.key import Key as Key
from podium.logging_spec.keys.key import Role as Role
from podium.logging_spec.keys.key import ValueType as ValueType
from podium.logging_spec.keys.legacy import V05 as V05
from podium.logging_spec.keys.legacy import V05_PREFIXES as V05_PREFIXES
from podium.logging_spec.keys.lifecycle import *
from podium.logging_spec.keys.lookup import ALL as ALL
from podium.logging_spec.keys.lookup import INFORMAL as INFORMAL
from podium.logging_spec.keys.lookup import known as known
from podium.logging_spec.keys.lookup import nearest as nearest
from podium.logging_spec.keys.optimizer import *
from podium.logging_spec.keys.standard_values import *
from podium.logging_spec.keys.submission import *
