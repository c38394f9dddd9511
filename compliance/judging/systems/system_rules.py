"""The rules on system descriptions, as values."""

from __future__ import annotations

from podium.compliance.judging.systems.fields import CANONICAL, CITES
from podium.compliance.judging.systems.organizations import same_organization
from podium.rules.citations import OWN
from podium.rules.consequences import Follows, Reach, same_line
from podium.rules.finding import Finding, Severity, StatedBy
from podium.rules.fixed.edits import RESULT, SYSTEM, drop, link, set_to, write
from podium.rules.fixed.fixed_rule import FixedRule, both, note, own, policy, verifier

_LOG = f"{RESULT}/result_0.txt"

_UNVERIFIED = "an error in a round that has no official verifier"

_PLACEHOLDER_NOTE = (
    "a note where the log has a placeholder, such as the one that MLPerf Common logs by default"
)

CATEGORIES = " | ".join(CANONICAL)


def _right_name(cause: Finding, finding: Finding) -> bool:
    return finding.key == cause.expected


def _named_as_the_folder(cause: Finding, finding: Finding) -> bool:
    return same_organization(cause.expected, str(finding.actual))


UNREADABLE = both(
    "system.unreadable",
    says="a system description can be opened and read",
    why="a file that cannot be read cannot be checked, and is not accepted",
    message="the file cannot be read: {problem}",
    help="check its path and permissions",
    cites=CITES,
    actual="given",
    bad=(link(SYSTEM, "../../elsewhere.json"),),
)

NOT_JSON = both(
    "system.not-json",
    says="a system description is one JSON object in UTF-8",
    why="the official verifier reads it with a strict parser and stops at the first syntax error",
    message="not valid JSON{where}: {problem}",
    help="write one flat JSON object in UTF-8: {fix}",
    cites=CITES,
    actual="given",
    bad=(write(SYSTEM, '{"submitter": "Acme",}'),),
    varies="a warning where the official verifier accepts the text (NaN, Infinity); " + _UNVERIFIED,
)

DUPLICATE_FIELD = policy(
    "system.duplicate-field",
    says="a system description gives each field once",
    why="if a field is given twice, only the last value is read",
    message="duplicate field `{field}` (first on line {first}): the last value counts",
    help="keep one of them",
    cites=CITES,
    actual="given",
    bad="`submitter` is in the object twice",
    good="every field is in the object once",
    varies=_UNVERIFIED,
)

MISSING_FIELD = both(
    "system.missing-field",
    says="a system description has every field that the round requires",
    why="readers compare systems field by field; the official verifier looks for the field names",
    message="the field `{field}` is missing{detail}",
    help="add it: {how}",
    cites=CITES,
    actual="given",
    bad=(drop(SYSTEM, "cooling"),),
    varies="a warning where only the policy or only the official verifier requires the field; a "
    "note where only the policy requires it and most published descriptions lack it, or where the "
    f"policy requires it from the next round on; {_UNVERIFIED}",
    follows=(
        # It may be behind the syntax error
        Follows("system.not-json", Reach.MARKED),
        Follows("system.misspelt-field", when=_right_name),
    ),
)

EMPTY_FIELD = policy(
    "system.empty-field",
    says="a field that the policy requires has a meaningful value",
    why="the official verifier only looks for the name; the policy requires a response",
    message="{what} empty: a meaningful value is required",
    help="fill in the {meaning}",
    cites=CITES,
    actual="given",
    varies="a note for fields that most published descriptions leave empty, such as cooling",
    bad=(set_to(SYSTEM, "host_memory_capacity", ""),),
)

MISSPELT_FIELD = FixedRule(
    "system.misspelt-field",
    says="field names are spelled as in the submission rules",
    why="a field with another name is not read, and the right field is missing",
    message="`{written}` is not a known field: did you mean `{field}`?",
    help="rename it to `{field}` (podium fix does it)",
    stated_by=StatedBy.BOTH,
    severity=Severity.ERROR,
    in_verifier=None,  # its profile reports the field that is missing
    cites=CITES,
    expected="{field}",
    actual="given",
    bad=(drop(SYSTEM, "division"), set_to(SYSTEM, "divison", "closed")),
    varies="a warning where only the policy or only the official verifier requires the field, and "
    "before training 1.0 and HPC 1.0, when only the division was read; " + _UNVERIFIED,
)

PLACEHOLDER = policy(
    "system.placeholder",
    says="no field still contains a placeholder from a template",
    why="a placeholder does not describe a system",
    message="`{field}` still has the placeholder {value!r}",
    help="fill in the {meaning}",
    cites=CITES,
    actual="given",
    bad=(set_to(SYSTEM, "cooling", "TBD"),),
)

UNFILLED = note(
    "system.unfilled",
    says="no field states that its value was not found",
    why="generators write this if they find no value; N/A means that a field does not apply",
    message="`{field}` is {value!r}: the value was not filled in",
    help="fill in the {meaning}, or write N/A if it does not apply",
    cites=CITES,
    actual="given",
    bad=(set_to(SYSTEM, "cooling", "Not available"),),
)

NOT_A_NAME = policy(
    "system.not-a-name",
    says="fields for names contain a name, not only a number or the index of a device",
    why="generators write the index of a device, such as 0, in place of its name",
    message="`{field}` is {value!r}; expected a name",
    help='write the {meaning}, such as "{example}"',
    cites=CITES,
    actual="given",
    bad=(set_to(SYSTEM, "accelerator_model_name", "0"),),
)

BAD_TYPE = policy(
    "system.bad-type",
    says="a text field is a JSON string",
    why="the tools that publish results do not show lists, objects, true and false as text",
    message="`{field}` is {kind}; expected a string",
    help="write it as a string",
    cites=CITES,
    expected="a string",
    actual="given",
    bad=(set_to(SYSTEM, "cooling", ["Liquid"]),),
    varies=_UNVERIFIED,
)

BAD_COUNT = policy(
    "system.bad-count",
    says="numbers of nodes, processors and accelerators are whole numbers",
    why="the size of the system is the product of these numbers, and the official result summary "
    "crashes on anything else",
    message="`{field}` is {found}; expected a whole number{least}{effect}",
    help='write only digits, such as "{digits}"{fix}',
    cites=CITES,
    expected="a whole number{least}",
    actual="given",
    bad=(set_to(SYSTEM, "host_processor_core_count", "many"),),
    varies="an error where number_of_nodes or another count that the official result summary "
    "multiplies cannot be read; a note where the summary can read an unusual spelling, such as "
    f"1.0; {_UNVERIFIED}",
)

BAD_STATUS = both(
    "system.bad-status",
    says="status is one of the availability categories of the round",
    why="results are published by category; some rounds' verifiers accept only exact spellings",
    message="`status` is {value!r}: {problem}",
    help="write the category as it is spelled in the submission rules{spelling}{fix}",
    cites=CITES,
    expected=CATEGORIES,
    actual="given",
    bad=(set_to(SYSTEM, "status", "onprem"),),
    varies="a warning where the official verifier does not check the spelling, or rejects a "
    f"spelling that the policy accepts (training 4.0); {_UNVERIFIED}",
)

BAD_DIVISION = policy(
    "system.bad-division",
    says="division is closed or open",
    why="the official tools check less if the division has another spelling",
    message="`division` is {value!r}; expected closed or open{effect}",
    help="write closed or open{guess}{fix}",
    cites=CITES,
    expected="closed or open",
    actual="given",
    bad=(set_to(SYSTEM, "division", "Closed"),),
    varies="an error where the value is not a spelling of either; " + _UNVERIFIED,
)

BAD_SYSTEM_TYPE = policy(
    "system.bad-system-type",
    says="system_type is datacenter or edge",
    why="the policy has no other type",
    message="`system_type` is {value!r}; expected datacenter or edge",
    help="write datacenter for a training system",
    cites=CITES,
    expected="datacenter or edge",
    actual="given",
    bad=(set_to(SYSTEM, "system_type", "cluster"),),
)

VERIFIER_CRASH = verifier(
    "system.verifier-crash",
    says="the official verifier reaches a verdict on the description",
    why="it assumes that some values are strings, and crashes if they are not",
    message="`{field}` is {kind}: the official verifier crashes on it",
    help="write it as a string, in double quotes (podium fix does it for numbers)",
    expected="a string",
    actual="given",
    bad=(set_to(SYSTEM, "framework", 2),),
    follows=(
        Follows("system.bad-type", when=same_line),
        Follows("system.empty-field", when=same_line),
    ),
)

SCHEMA = policy(
    "system.schema",
    says="a description matches the JSON Schema of its round",
    why="values that obey each rule may still contradict each other",
    message="{subject} does not match the round's schema ({keyword})",
    help="compare it with `podium system schema`",
    cites=CITES,
    actual="given",
    bad="a description violates no other rule, and does not match the schema",
    good="a description matches the schema",
)

NAME_MISMATCH = policy(
    "system.name-mismatch",
    says="a description names the submitter whose folder it is in",
    why="results are published under the submitter's name",
    message="`submitter` is {described!r}; the submission's folder is {folder!r}",
    help="use the same organization name in both",
    follows=(Follows("system.placeholder", when=same_line),),
    cites=CITES,
    expected="{folder}",
    actual="described",
    varies="a note where only the case of letters differs",
    bad=(set_to(SYSTEM, "submitter", "Other Labs"),),
)

SUBMITTER_MISMATCH = policy(
    "system.submitter-mismatch",
    says="submission_org in the logs is the submitter in the description",
    why="a log with another organization, or a placeholder, does not show that this submitter made "
    "it",
    message="the log has organization {logged!r}{detail}; the system description has {described!r}",
    help="set the submitter's name in the program that writes the log",
    cites=CITES,
    expected="{described}",
    actual="logged",
    varies=_PLACEHOLDER_NOTE,
    bad=(set_to(_LOG, "submission_org", "Other Labs"),),
    follows=(Follows("system.name-mismatch", Reach.SYSTEM, _named_as_the_folder),),
)

DIVISION_MISMATCH = policy(
    "system.division-mismatch",
    Severity.ERROR,
    says="a description has the same division as the logs of its system",
    why="closed and open results are published separately",
    message="`division` is {described!r}; all {count} logs of the system have {logged}, for "
    "example {first}",
    help="a result has one division: correct the description, or the logs if they are wrong",
    cites=CITES,
    expected="{logged}",
    actual="described",
    bad=(set_to(SYSTEM, "division", "open"),),
    varies="a warning up to training 3.1 and in HPC 0.7, where such results were accepted",
)

PARALLELISM_EXCEEDS_SYSTEM = own(
    "system.parallelism-exceeds-system",
    says="a model is not divided among more accelerators than the system has",
    why="the product of tensor, pipeline and context parallelism is the least number of "
    "accelerators that a model needs",
    message="tensor * pipeline * context parallelism is {model}; the system has {accelerators} "
    "accelerators",
    help="correct the parallelism in the log, or the nodes and accelerators in the description",
    cites=f"{OWN}, Plausibility",
    expected="at most {accelerators}",
    actual="model",
    bad="a log has tensor_parallelism 128, and the description 8 nodes of 8 accelerators",
    good="the log has tensor_parallelism 8",
)
STATUS_MISMATCH = policy(
    "system.status-mismatch",
    says="a description and the logs of its system name the same availability",
    why="results are published by category of availability",
    message="the log has status {logged!r}; the system description has {described!r}",
    help="log submission_status {wanted}, or correct the description",
    cites="submission rules, Results categories",
    expected="{wanted}",
    actual="logged",
    bad="in a round up to training 4.0 the description says `Available cloud`, and logs have "
    "submission_status onprem",
    good="the description says `Available on-premise`, and logs have submission_status onprem",
    varies="a note from training 4.1 on, where no rule requires the key in logs",
)

PLATFORM_MISMATCH = policy(
    "system.platform-mismatch",
    says="submission_platform in the logs is the system in the description",
    why="a log of another platform was not made on this system",
    message="the log's platform {logged!r} {problem}",
    help="set the platform's name in the program that writes the log",
    cites=CITES,
    expected="{wanted}",
    actual="logged",
    varies=_PLACEHOLDER_NOTE,
    bad=(set_to(_LOG, "submission_platform", "another"),),
    follows=(
        Follows("system.not-a-name", Reach.SYSTEM),
        Follows("system.placeholder", Reach.SYSTEM),
        Follows("system.bad-count", Reach.SYSTEM),
    ),
)

# --- compared with logs and folders ---

SIZE_MISMATCH = policy(
    "system.size-mismatch",
    says="a description and the logs of its system have the same numbers of nodes and accelerators",
    why="results are compared by the size of their systems",
    message="the log has {logged} {unit}, the system description has {described}",
    help="correct the description or the logged value",
    cites=CITES,
    expected="{described}",
    actual="logged",
    bad="an HPC log has number_of_nodes 4, and the description of its system has 8",
    good="HPC logs have the description's number_of_nodes and accelerators_per_node",
)

COUNTED_NONE = policy(
    "system.accelerators-not-counted",
    says="a system with an accelerator model has at least one accelerator in each node",
    why="results are compared by the number of accelerators, which would be 0",
    message="`accelerators_per_node` is 0, but `accelerator_model_name` is {name!r}",
    help="write the number of accelerators of a node, or N/A for the model",
    cites=CITES,
    expected="at least 1",
    actual="given",
    bad=(set_to(SYSTEM, "accelerators_per_node", "0"),),
)

BAD_CAPACITY = policy(
    "system.bad-capacity",
    says="a capacity is a number with its unit",
    why="readers compare systems by it: a number without a unit, or a word, has no clear meaning",
    message="`{field}` is {value!r}; expected a number and a unit",
    help="write it like {example!r}",
    cites=CITES,
    expected="a number and a unit",
    actual="given",
    bad=(set_to(SYSTEM, "host_memory_capacity", "lots"),),
)

UNUSUAL_DETAIL = note(
    "system.unusual-detail",
    says="system_type_detail names the kind of installation",
    why="the policy names cloud, on-premise and edge-server as examples",
    message="`system_type_detail` is {value!r}; expected a kind of installation",
    help="write the kind of installation, such as on-premise or cloud, or N/A",
    cites=CITES,
    actual="given",
    bad=(set_to(SYSTEM, "system_type_detail", "banana"),),
)

PRIVATE_SOFTWARE = policy(
    "system.private-software",
    says="a system with status Available uses only software that is available",
    why="private source, redacted source and private binaries are for Preview and RDI systems",
    message="`{field}` names software that is not available ({word!r}), but the system's status is "
    "Available",
    help="name the public release, commit or tag, or submit the system as Preview or RDI",
    cites="submission rules, Source code requirements for replication",
    actual="given",
    bad=(set_to(SYSTEM, "framework", "PyTorch 2.9 (private build)"),),
)

PREVIEW_DUE = note(
    "system.preview-due",
    says="a Preview system is submitted as Available by its deadline",
    why="a Preview result without this second submission is withdrawn from the published results",
    message="`status` is Preview: the system must be submitted and published as Available at the "
    "next submission date, or at the first after {days} days if that is later",
    help="plan to submit the smallest and the largest scale again, at most 2% slower",
    cites="submission rules, Preview Systems",
    actual="given",
    bad=(set_to(SYSTEM, "status", "Preview"),),
)
