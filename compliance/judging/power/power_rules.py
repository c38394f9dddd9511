"""The rules on power logs, as values."""

from __future__ import annotations

from podium.rules.citations import VERIFIER, official
from podium.rules.finding import Severity, StatedBy
from podium.rules.fixed.fixed_rule import FixedRule, both, note, policy, verifier

_RULES = "power measurement rules"
_FOLDER = "submission rules, Directory structure"
_GOOD = "power/result_0/node_0.txt has a reading each second from run_start to run_stop, between "
_GOOD += "one start and one stop; every other run has such a file, too"

NO_RUN_FOLDER = both(
    "power.no-run-folder",
    says="every run of a result with power logs has a folder with power logs",
    why="the energy of a result is the mean over the same runs as its time",
    message="{run} has no folder of power logs; every run must be measured",
    help="add the power logs of this run",
    expected="power/<run> for every run",
    cites=f"{_RULES}, Measure all Runs",
    bad="there are power/result_0 and power/result_1, and a third run",
    good=_GOOD,
)

NUMBERING = both(
    "power.numbering",
    says="the power logs of a run are numbered from 0 without gaps",
    why="a gap means that a node or a switch was not measured",
    message="{kind} files are not numbered from 0 without gaps{numbers}",
    help="rename the files",
    expected="numbers from 0 without gaps",
    cites=_FOLDER,
    bad="power/result_0 contains node_1.txt, and no node_0.txt",
    good=_GOOD,
    varies="a warning where the official verifier counts other files as the missing ones",
)

FILE_COUNT = both(
    "power.file-count",
    says="all runs of a result have the same number of power logs",
    why="energies of different numbers of nodes cannot be averaged",
    message="the run has {count} {kind} files; most runs have {usual}{detail}",
    help="add the missing files",
    expected="the same number of files in every run",
    cites=f"{_RULES}, Measure All Nodes",
    bad="power/result_0 contains node_0.txt and node_1.txt, the other runs only node_0.txt",
    good=_GOOD,
    varies="a warning where the official verifier counts other files as the missing ones",
)

VERIFIER_CRASH = verifier(
    "power.verifier-crash",
    says="the official verifier can read the names in the power folder",
    why="it reads the text after a name's last underscore as a number, and crashes on other text",
    message="the official verifier crashes on this folder: {problem}",
    help="give each run's folder one file per node, from node_0.txt",
    expected="power/<run>/node_<i>.txt",
    bad="power/result_0 contains node_a.txt",
    good=_GOOD,
)

VERIFIER_NAMES = FixedRule(
    "power.verifier-names",
    says="no other file has a name that begins like the name of a power log",
    why="the official verifier counts every such name as a power log, including plots",
    message="the official verifier rejects {run}: it counts each name that begins with {kind} as a "
    "power log",
    help="give each run's folder one file per node, from node_0.txt",
    cites=official("power.verifier-names"),
    expected="power/<run>/node_<i>.txt",
    stated_by=StatedBy.VERIFIER,
    severity=Severity.WARNING,
    in_verifier=None,  # its profile reports the numbers and counts that result
    bad="power/result_0 contains nodes_1_to_8.png in addition to node_0.txt",
    good=_GOOD,
)

NO_SUMMARY = FixedRule(
    "power.no-summary",
    says="the official summary can compute an energy",
    why="it divides by the time between the marks, and crashes if the time is 0",
    message="the official summary crashes here: {problem}",
    help="log one start before the first reading and one stop after the last",
    cites=f"{VERIFIER}, result_summarizer",
    expected="a log that can be summed",
    stated_by=StatedBy.VERIFIER,
    severity=None,  # the policy's own sum does not need the marks
    in_verifier=Severity.WARNING,
    bad="the measurement stops when it starts",
    good=_GOOD,
)

NODE_COUNT = policy(
    "power.node-count",
    says="there is a log for each node of the system",
    why="the power of the whole system counts, not that of selected nodes",
    message="runs have {count} node files; the system has {nodes} nodes",
    help="measure every node of the system",
    expected="one file for each node",
    actual="count",
    cites=f"{_RULES}, Measure All Nodes",
    bad="the system has number_of_nodes 2, and every run has one node file",
    good=_GOOD,
)

NO_INTERCONNECT = policy(
    "power.no-interconnect",
    says="the interconnect of a system with several nodes is measured or estimated",
    why="the network between the nodes also draws power for the training",
    message="{count} of {total} runs have no sw file, including {run}; expected a measurement or "
    "an estimate for the interconnect of the system's {nodes} nodes",
    help="add sw_0.txt with interconnect_power_est, or with the readings of the switch",
    expected="sw_<i>.txt in every run's folder",
    cites=f"{_RULES}, Measure or Estimate Interconnects",
    bad="the system has number_of_nodes 2, and the runs have node_0.txt, node_1.txt and no sw file",
    good="every run also has sw_0.txt",
)

STRAY_FILE = policy(
    "power.stray-file",
    says="the power folder contains only power logs",
    why="programs that count files treat other files as measurements",
    message="{names}: not the name of a power log",
    help="move other files out of the folder",
    expected="node_<i>.txt, sw_<i>.txt",
    cites=_FOLDER,
    bad="power/result_0 contains plot.png",
    good=_GOOD,
)

SURPLUS = policy(
    "power.surplus",
    says="each folder of power logs belongs to a run",
    why="logs of a run that is not submitted prove nothing",
    message="{names}: not the name of a run of this result",
    help="rename or remove them",
    expected="folders with the names of the runs",
    cites=_FOLDER,
    bad="there is power/result_10, but no run result_10.txt",
    good=_GOOD,
)

UNREADABLE = policy(
    "power.unreadable",
    says="every line of a power log can be read",
    why="energy that cannot be read is not counted",
    message="cannot be read: {problem}",
    help="write the log again",
    cites=f"{_RULES}, Report 1 Measurement per Second",
    expected="log lines in the format of :::MLLOG",
    bad="a power log ends in the line `:::MLLOG {`",
    good=_GOOD,
)

NO_READINGS = policy(
    "power.no-readings",
    says="a power log contains readings",
    why="a file without readings measures nothing",
    message="the log has no {wanted}",
    help="log power_reading in watts",
    expected="one reading per second",
    cites=f"{_RULES}, Report 1 Measurement per Second",
    bad="a power log contains only a start and a stop",
    good=_GOOD,
)

BAD_READING = policy(
    "power.bad-reading",
    says="each reading is a number of watts",
    why="only numbers can be summed",
    message="{logged} is {value}; expected a number of watts, not below 0",
    help="log watts as a JSON number",
    expected="a number of watts",
    actual="given",
    cites=f"{_RULES}, Scoring",
    bad='a reading has the value "500"',
    good=_GOOD,
)

NO_WATTS = policy(
    "power.no-watts",
    says="a measured or estimated interconnect draws power",
    why="switches draw most of their power whether or not there is traffic",
    message="the interconnect draws {watts} W; expected more than 0",
    help="log the maximum power of the switches times the share that the system uses",
    expected="above 0",
    actual="watts",
    cites=f"{_RULES}, Measure or Estimate Interconnects",
    bad="sw_0.txt has an interconnect_power_est of 0",
    good="it has one of 100",
)

IMPLAUSIBLE = policy(
    "power.implausible",
    says="the power of a node is plausible for training",
    why="implausible values are mostly kilowatts or milliwatts, or from one of several power "
    "supplies",
    message="the node draws {watts:.4g} W on average during the run; expected {least:g} to "
    "{most:g} W",
    help="log the watts of the whole node, summed over its power supplies",
    expected="between {least:g} and {most:g}",
    actual="watts",
    cites=f"{_RULES}, Scoring",
    bad="all readings of node_0.txt are 1 W",
    good="they are 500 W",
)

BAD_EFFICIENCY = policy(
    "power.efficiency",
    says="the efficiency of a power supply is above 0 and at most 1",
    why="the output of a power supply is not larger than its input",
    message="conversion_eff is {given}; expected a number above 0 and at most 1",
    help="log the power supply's efficiency",
    expected="above 0, at most 1",
    actual="given",
    cites=f"{_RULES}, Measure at the PSUs",
    bad="conversion_eff is 1.2",
    good=_GOOD,
)

MEASUREMENT_TYPE = policy(
    "power.measurement-type",
    says="conversion_eff states whether power was measured before (AC) or after the supply (DC)",
    why="the efficiency applies only to power that was measured before the power supply",
    message="conversion_eff has measurement_type {given}; expected AC or DC",
    help="log metadata.measurement_type with conversion_eff",
    expected="AC or DC",
    actual="given",
    cites=f"{_RULES}, Measure at the PSUs",
    bad="conversion_eff is logged without metadata",
    good=_GOOD,
)

MARKERS = policy(
    "power.markers",
    says="one mark begins the measurement and one ends it",
    why="without marks, the time that the readings cover is unknown",
    message="the marks do not enclose the readings: {problem}",
    help="log one start before the first reading and one stop after the last",
    expected="one start, one stop",
    cites=f"{_RULES}, Measure max(a run, 60 power samples)",
    varies="a note where the stop has the same time as the start, as in many published logs: the "
    "readings have their own times",
    bad="a power log has no power_measurement_stop",
    good=_GOOD,
)

CLOCK = policy(
    "power.clock",
    says="readings are from the time of the run",
    why="with a wrong clock of the meter, the timed part is not measured",
    message="the readings {when}: none is from this run",
    help="set the meter's clock, or add the right log",
    expected="readings from this run",
    cites=f"{_RULES}, Measure max(a run, 60 power samples)",
    bad="all readings are a day older than the run",
    good=_GOOD,
)

COVERAGE = policy(
    "power.coverage",
    says="readings cover the whole timed part",
    why="the policy counts the energy from run_start to run_stop",
    message="the measurement {missed}; expected it to cover the timed part",
    help="start measuring before the run",
    expected="from run_start to run_stop",
    cites=f"{_RULES}, Measure max(a run, 60 power samples)",
    bad="the last reading is 9 s before run_stop",
    good=_GOOD,
)

CADENCE = policy(
    "power.cadence",
    says="power is read at least once a second",
    why="peaks between less frequent readings are missed",
    message="{count} gaps between readings in the timed part are too long, the longest "
    "{longest:.3g} s; expected one reading per second",
    help="read the meter every second",
    expected="one reading per second",
    actual="longest",
    cites=f"{_RULES}, Report 1 Measurement per Second",
    varies="an error where most gaps are too long: the meter is not read every second; a note "
    "where no gap is longer than 3 s: single readings were lost or late",
    bad="two readings are 4 s apart",
    good=_GOOD,
)

TOO_FEW_READINGS = policy(
    "power.too-few-readings",
    says="a run has at least 60 readings",
    why="a mean over few readings is unreliable",
    message="the timed part has {count} readings; expected at least {fewest}",
    help="lengthen the training loop, or read the meter more often",
    expected="{fewest} readings",
    actual="count",
    cites=f"{_RULES}, Measure max(a run, 60 power samples)",
    bad="power is read every 2 s in a run of 100 s",
    good=_GOOD,
)

TOO_EARLY = note(
    "power.too-early",
    says="power logs belong to rounds that measure power",
    why="before training 3.1 and HPC 3.0 they are not checked",
    message="{title} has no rules on power; the rules of {first} are applied",
    help="remove the folder, or check that --round names its round",
    cites=f"{_RULES}, Preamble",
    expected="no power folder",
    bad="a result of training 3.0 has a power folder",
    good="a result of training 5.0 has one",
)

UNORDERED = note(
    "power.unordered",
    says="readings are in chronological order",
    why="the energy is summed over consecutive readings, so podium sorts them first",
    message="a reading is older than the one before it",
    help="write each reading when it is taken",
    cites=f"{_RULES}, Scoring",
    expected="readings in order of time",
    bad="two readings are swapped",
    good=_GOOD,
)
