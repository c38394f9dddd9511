"""The rules on waivers and bypass flags, with which a submission asks to accept findings."""

from __future__ import annotations

from podium.rules.citations import OWN
from podium.rules.finding import Severity
from podium.rules.fixed.edits import RESULT, write
from podium.rules.fixed.fixed_rule import both, own, policy, verifier

FLAGS_CITES = "training rules, RCP Rules and Guidelines"

_OWN = f"{OWN}, Waivers"
_VISIBLE = "every exception that a review group grants must be visible"
_WAIVERS, _FLAGS = "waivers.toml", f"{RESULT}/package_checker_params"


def _waiver(rule: str, expiry: str) -> str:
    return (
        f'[[waiver]]\nrule = "{rule}"\nplace = "*"\nreason = "granted in review"\n'
        f'who = "chair"\nuntil = {expiry}\n'
    )


IN_FORCE = both(
    "params.in-force",
    Severity.NOTE,
    says="bypass flags that apply are reported",
    why=_VISIBLE,
    message="{flag} applies to {scope}: {effect}",
    help="remove it where it is not needed",
    cites=FLAGS_CITES,
    bad=(write(_FLAGS, "rcp-bypass"),),
)
UNKNOWN_FLAG = policy(
    "params.unknown-flag",
    says="every line of a flag file is a known flag",
    why=_VISIBLE,
    message="unknown flag {flag!r}; {advice}",
    help="write one flag per line",
    cites=FLAGS_CITES,
    bad=(write(_FLAGS, "rcp-bypas"),),
    good=(write(_FLAGS, "rcp-bypass"),),
)
# The same flag needs opposite endings. The Python program needs a last line without a newline.
# The scripts, which alone read the submission's own file, need a line with a newline.
UNSEEN = verifier(
    "params.unseen",
    in_verifier=Severity.WARNING,
    says="the official verifier sees the flag",
    why="it honors a flag only on a last line without a newline; its scripts honor a flag only on "
    "a line with a newline",
    message="the official verifier does not see {flag} here: {reason}",
    help="write {form}",
    bad=(write(_FLAGS, "rcp-bypass\n"),),
    good=(write(_FLAGS, "rcp-bypass"),),
)

REFUSED = verifier(
    "params.refused",
    says="the official scripts can pass the flag to the verifier",
    why="they turn each line into an argument, and the verifier stops at an unknown argument",
    message="the official verifier rejects --{flag}, the argument that its scripts make from this "
    "line, and checks nothing",
    help="write the flag with hyphens between words but none before it, and end the line",
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
    message="the official verifier crashes: the file is not valid UTF-8",
    help="write the file as plain ASCII text",
    bad="a package_checker_params among the results contains the byte e9",
    good="it contains rcp-bypass",
)
INVALID = own(
    "waivers.invalid",
    Severity.ERROR,
    says="a submission's waivers.toml contains waivers, and each is complete",
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
    says="a waiver applies until its last day",
    why=_VISIBLE,
    message="{waiver} expired on {until}",
    help="remove it, or have it granted again",
    cites=_OWN,
    expected="{today} or later",
    actual="until",
    bad="a waiver in the file of --waivers expired yesterday",
    good="it expires today",
)
UNUSED = own(
    "waivers.unused",
    Severity.NOTE,
    Severity.NOTE,
    says="a waiver covers at least one finding",
    why=_VISIBLE,
    message="{waiver} covers no finding",
    help="remove it, or check that rule and place are written as in the report",
    cites=_OWN,
    bad="a waiver in the file of --waivers covers seeds.none, and every run logs a seed",
    good="a run logs no seed",
)
