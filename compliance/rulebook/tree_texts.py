"""What people are told about seeds, names and links, flags and waivers."""

from __future__ import annotations

from collections.abc import Mapping

from podium.compliance.rulebook.package_texts import FixedText, both, note, policy
from podium.rules.finding import Severity, StatedBy

_NAME = "the review repository is checked out on systems that treat such names differently"
_LINK = "a link must lead to the same file on every machine that the tree is copied to"
_RENAME = "rename it"
_SEED = "runs that start from the same numbers are one run, not several"
_FLAG = "what is let through in review must be plain to see"


def _verifier(says: str, why: str, hint: str) -> FixedText:
    return FixedText(says, why, hint=hint, severity=Severity.WARNING, stated_by=StatedBy.VERIFIER)


_SEEDS = {
    "seeds.none": both(
        "every closed run logs a seed",
        _SEED,
        "log the seed that the run's random generators were given",
    ),
    "seeds.not-integer": both("a seed is an integer", _SEED, "log it as the generator takes it"),
    "seeds.no-place": _verifier(
        "a seed's record says where it was logged",
        "the official verifier compares seeds by source file and line",
        "log seeds through mllog, which adds both",
    ),
    "seeds.repeated": both(
        "no two runs of a result log the same seed at the same place",
        _SEED,
        "draw a new seed for each run",
    ),
    "seeds.repeated-in-run": _verifier(
        "a run logs a seed once",
        "the official verifier takes ranks that log the same seed for runs that share one",
        "log the seed from one process only",
    ),
    "seeds.several": policy(
        "a run logs one seed",
        "of several it is unclear which one the run depends on",
        "log the one seed from which the others are drawn",
    ),
    "seeds.shared": policy(
        "no seed stands in two runs of a result, wherever they log it",
        _SEED,
        "draw a new seed for each run",
    ),
    "seeds.source": policy(
        "a seed is logged by a source file of the submission",
        "reviewers follow it to where it is used",
        "log the seed where the random generators are seeded",
    ),
    "seeds.source-line": note(
        "the line that logs a seed speaks of it",
        "reviewers follow the seed from there to where it is used",
        "log the seed where the random generators are seeded",
    ),
    "seeds.unreadable-log": both(
        "the log that seeds are looked for in can be read",
        "the official seed check gives up on lines it cannot read",
        "mend the line",
    ),
    "seeds.verifier-crash": _verifier(
        "the official seed check can compare what is logged",
        "it ends in a traceback on a list or an object, and gives no verdict",
        "log seeds through mllog",
    ),
}

_REPO = {
    "repo.space-in-name": both("no name holds a space", _NAME, _RENAME),
    "repo.leading-dot": both("no name begins with a dot", _NAME, _RENAME),
    "repo.control-character": policy("no name holds control characters", _NAME, _RENAME),
    "repo.windows-name": policy("Windows accepts every name", _NAME, _RENAME),
    "repo.long-name": policy("a name has at most 255 bytes", _NAME, "shorten it"),
    "repo.long-path": policy("no path is too long to be checked out", _NAME, "shorten it"),
    "repo.not-nfc": policy("names are in composed Unicode", _NAME, _RENAME),
    "repo.not-utf8": policy("names are UTF-8 text", _NAME, _RENAME),
    "repo.case-collision": policy("names differ by more than case", _NAME, "rename one"),
    "repo.large-file": both(
        "no file is larger than 50 MiB",
        "the review repository refuses large files",
        "keep large files out of the tree",
    ),
    "repo.broken-link": both("every link leads to something", _LINK, "mend or remove the link"),
    "repo.absolute-link": policy("links are relative", _LINK, "write it from its folder"),
    "repo.escaping-link": policy("links stay in the tree", _LINK, "copy the file instead"),
    "repo.link-from-elsewhere": _verifier(
        "a link can be followed from the current folder, too",
        "the official program follows links from where it was started",
        "start it in the link's folder, or copy the file",
    ),
    "repo.lfs-pointer": policy(
        "files are there, not pointers to them",
        "reviewers do not have the store behind it",
        "commit the file itself",
    ),
    "repo.secret": policy(
        "no password, key or token is left in the tree",
        "the tree is published",
        "remove it, and have it withdrawn",
    ),
    "repo.special-file": policy("the tree holds files and folders only", _NAME, "remove it"),
    "repo.unreadable": policy(
        "everything in the tree can be read", _NAME, "mend its permissions or place"
    ),
    "repo.search-ended": note(
        "all of the tree was searched for secrets",
        "very large trees are searched in part only",
        "search the rest by another tool",
    ),
}

_OTHERS = {
    "params.in-force": note("a bypass flag is in force", _FLAG, "remove it where not needed"),
    "params.unknown-flag": policy("every flag is one that is known", _FLAG, "see the message"),
    "params.unseen": _verifier(
        "the official verifier sees the flag",
        "it honours a flag only on a last line without a line end",
        "end the file right behind the flag",
    ),
    "params.refused": _verifier(
        "the official scripts can pass the flag on",
        "they make an argument of each line, and a spelling they do not know ends everything",
        "write it as rcp-bypass or seed-checker-bypass",
    ),
    "params.unreadable": both("the flag file can be read", _FLAG, "mend the file"),
    "params.verifier-crash": _verifier(
        "the official verifier can read the flag file",
        "it ends in a traceback on bytes that are no UTF-8",
        "write the file as plain text",
    ),
    "waivers.invalid": both(
        "waivers.toml holds waivers", _FLAG, "give each rule, place, reason, who and until"
    ),
    "waivers.expired": policy("a waiver holds until its day", _FLAG, "remove or renew it"),
    "waivers.unused": note("a waiver covers something", _FLAG, "remove it"),
}

TREE_TEXTS: Mapping[str, FixedText] = {**_SEEDS, **_REPO, **_OTHERS}
"""By rule: what it says and why."""
