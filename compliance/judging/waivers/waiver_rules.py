"""Waivers and bypass flags, what a submission asks to let through: one value for each rule."""

from __future__ import annotations

from podium.rules.citations import OWN
from podium.rules.finding import Severity
from podium.rules.fixed.edits import RESULT, write
from podium.rules.fixed.fixed_rule import both, own, policy, verifier

FLAGS_CITES = "training rules, RCP Rules and Guidelines"

_OWN = f"{OWN}, Waivers"
_VISIBLE = "what is let through in review must be plain to see"
_WAIVERS, _FLAGS = "waivers.toml", f"{RESULT}/package_checker_params"


def _waiver(rule: str, until: str) -> str:
    return (
        f'[[waiver]]\nrule = "{rule}"\nplace = "*"\nreason = "granted in review"\n'
        f'who = "chair"\nuntil = {until}\n'
    )


IN_FORCE = both(
    "params.in-force",
    Severity.NOTE,
    says="a bypass flag is in force",
    why=_VISIBLE,
    message="{flag} is in force for {scope}: {effect}",
    help="remove it where it is not needed",
    cites=FLAGS_CITES,
    bad=(write(_FLAGS, "rcp-bypass"),),
)
UNKNOWN_FLAG = policy(
    "params.unknown-flag",
    says="every flag is one that is known",
    why=_VISIBLE,
    message="unknown flag {flag!r}; {advice}",
    help="write one flag per line",
    cites=FLAGS_CITES,
    bad=(write(_FLAGS, "rcp-bypas"),),
    good=(write(_FLAGS, "rcp-bypass"),),
)
# The same flag needs opposite endings: the Python program wants a last line without a line end,
# the scripts, which alone read the submission's own file, one with it
UNSEEN = verifier(
    "params.unseen",
    in_verifier=Severity.WARNING,
    says="the official verifier sees the flag",
    why="it honours a flag only on a last line without a line end; its scripts, only on a line "
    "with one",
    message="the official verifier does not see {flag} here: {reason}",
    help="write {form}",
    bad=(write(_FLAGS, "rcp-bypass\n"),),
    good=(write(_FLAGS, "rcp-bypass"),),
)

REFUSED = verifier(
    "params.refused",
    says="the official scripts can pass the flag on",
    why="they make an argument of each line, and stop at one that they do not know",
    message="the official verifier refuses --{flag}, the argument that its scripts make of this "
    "line, and judges nothing",
    help="write the flag with hyphens, without leading ones, and end the line",
    bad=(write("package_checker_params", "rcp_bypass\n"),),
    good=(write("package_checker_params", "rcp-bypass\n"),),
)
UNREADABLE = both(
    "params.unreadable",
    says="the flag file can be read",
    why=_VISIBLE,
    message="cannot be read: {reason}",
    help="make it a plain file with one flag per line",
    cites=FLAGS_CITES,
    bad=(write(f"{_FLAGS}/flags", "rcp-bypass"),),
    good=(write(_FLAGS, "rcp-bypass"),),
)
VERIFIER_CRASH = verifier(
    "params.verifier-crash",
    says="the official verifier can read the flag file",
    why="it crashes on bytes that are not UTF-8",
    message="the official verifier ends without a verdict: the file is not UTF-8 text",
    help="write the file as plain ASCII text",
    bad="a package_checker_params among the results holds the byte e9",
    good="it holds rcp-bypass",
)
INVALID = own(
    "waivers.invalid",
    Severity.ERROR,
    says="a submission's waivers.toml holds waivers, and each is complete",
    why=_VISIBLE,
    message="{problem}",
    help="give each [[waiver]] rule, place, reason, who and until",
    cites=_OWN,
    bad=(write(_WAIVERS, '[[waiver]]\nrule = "seeds.none"\n'),),
    good=(write(_WAIVERS, _waiver("seeds.none", "2999-12-31")),),
)
EXPIRED = own(
    "waivers.expired",
    Severity.WARNING,
    Severity.WARNING,
    says="a waiver holds until its day",
    why=_VISIBLE,
    message="{waiver} ended on {until} and is in force no more",
    help="remove it, or have it granted again",
    cites=_OWN,
    expected="a day from {today} on",
    actual="until",
    bad="a waiver of the file given by --waivers ended yesterday",
    good="it ends today",
)
UNUSED = own(
    "waivers.unused",
    Severity.NOTE,
    Severity.NOTE,
    says="a waiver covers something",
    why=_VISIBLE,
    message="{waiver} covers no finding",
    help="remove it, or look whether rule and place are written as the report has them",
    cites=_OWN,
    bad="a waiver of the file given by --waivers is of seeds.none, and every run logs a seed",
    good="a run logs no seed",
)
