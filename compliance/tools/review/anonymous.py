"""Anonymous reviews: each name of a submitter or system is replaced by the same word everywhere."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

import msgspec
from msgspec.structs import replace

from podium.compliance.judging.results.result import Result
from podium.compliance.judging.systems.organizations import same_organization
from podium.compliance.reporting.pages.templates import plain_name
from podium.compliance.tools.review.common_words import COMMON, FIXED, KEPT, ROOTS
from podium.compliance.tools.review.material import Material
from podium.compliance.tools.review.model import Objection, ResultEntry, Review
from podium.compliance.tools.review.objections import about, weight
from podium.compliance.tools.review.records import Manifest

LEAST = 2
"""Minimum letters of a name that is replaced in texts; in paths, shorter ones are replaced, too."""

LEAST_WORD = 3
"""Minimum characters of a word within a name that is replaced by itself, such as XE9680."""

_WORD = re.compile(r"[A-Za-z0-9]+")
_PATH = re.compile(r"[^\s:'\"`,;()]*/[^\s:'\"`,;()]*")
_OUTSIDE = re.compile(r"[^\w@+-]|[\w.-]+=/")
"""The beginning of a path that is not below the round: absolute, of a server, or of a variable."""

_FILE_NAME = re.compile(r"[A-Za-z0-9_.+@-]+")
_RESULT_FILE = re.compile(r"result_\d+\.txt", re.IGNORECASE)
_SEPARATOR = re.compile(r"[-_ +.,]+")

Replace = Callable[[str], str]


def anonymised(review: Review, files: Manifest, material: Material) -> Review:
    """The review without the names of submitters and systems, in texts and paths alike.

    The names of accelerators, frameworks and settings stay, because they are compared; a vendor in
    them is removed if it is a submitter. The numbers of names and objections do not depend on the
    names, and the order of the names is not kept. `files` are the paths of the submissions.
    """
    # A reader who knows the names could reconstruct an order by hashes
    shuffled = random.SystemRandom()
    names = _Names(material, shuffled)
    hide = names.replacer([*files], {result.benchmark for result in review.results})
    plain = _mapped(msgspec.to_builtins(review), hide)
    hidden: Review = msgspec.convert(plain, Review, strict=False)
    return _in_new_order(replace(hidden, anonymous=True))


def _in_new_order(review: Review) -> Review:
    """The lists that were in the order of names, in the order of the replacements."""
    return replace(
        review,
        submissions=sorted(review.submissions, key=lambda submission: submission.path),
        results=[_without_hashes(result) for result in review.results],
        objections=_numbered(review.objections, "objection"),
        notes=_numbered(review.notes, "note"),
        against=None
        if review.against is None
        else replace(
            review.against,
            results=sorted(review.against.results, key=lambda result: result.path),
            files={kind: sorted(paths) for kind, paths in review.against.files.items()},
            unasked=sorted(review.against.unasked),
        ),
    )


def _without_hashes(result: ResultEntry) -> ResultEntry:
    """A result without the hashes of its logs: the logs are published later."""
    runs = [replace(run, records={}) for run in result.runs]
    return replace(result, runs=runs, borrows=sorted(result.borrows))


def _numbered(objections: Iterable[Objection], kind: str) -> list[Objection]:
    """Objections with numbers as ids: a hash of the place would be the same in the named review."""
    placed_objections = [
        replace(
            objection,
            id="",
            evidence=sorted(
                objection.evidence, key=lambda evidence: (evidence.path, evidence.line or 0)
            ),
            folded=sorted(objection.folded, key=lambda group: group.path),
        )
        for objection in objections
    ]
    return [
        replace(
            objection, id=f"{objection.submitter}-{plain_name(about(objection))}-{kind}-{number:03}"
        )
        for number, objection in enumerate(sorted(placed_objections, key=weight), 1)
    ]


# --- names ----------------------------------------------------------------------------------------


class _Names:
    """The replacement for each name of a submitter or system, and for each word in such a name."""

    def __init__(self, material: Material, shuffled: random.Random) -> None:
        self.shuffled = shuffled
        self.results = [
            *material.results,
            *(result for earlier in material.earlier for result in earlier.results),
        ]
        folders = {home.submitter for home in material.homes}
        folders |= {result.place.submitter for result in self.results}
        self.words = _words(folders, "submitter-{:02}", shuffled)
        self.words |= self._organizations()
        self.words |= {name: word for name, word in self._systems() if name not in self.words}
        self.products = self._products()

    def _organizations(self) -> dict[str, str]:
        """Organizations that logs and descriptions name, with a replacement for each new one."""
        names = {run.facts.org or "" for result in self.results for run in result.runs}
        names |= {
            description.submitter for result in self.results if (description := result.description)
        }
        replacements, strangers = {}, []
        for name in names - {"", *self.words}:
            same = next((word for word in self.words if same_organization(word, name)), None)
            if same is None:
                strangers.append(name)
            else:
                replacements[name] = self.words[same]
        return replacements | _words(strangers, "organization-{:02}", self.shuffled)

    def _systems(self) -> Iterator[tuple[str, str]]:
        """The names of systems, including those in logs and descriptions, with replacements."""
        called: dict[str, set[str]] = defaultdict(set)
        for result in self.results:
            names = called[result.place.system]
            names |= {run.facts.platform or "" for run in result.runs}
            if result.description is not None:
                names.add(result.description.system_name)
        words = _words(called, "system-{:03}", self.shuffled)
        yield from words.items()
        for system, word in words.items():
            # The name of a folder has precedence over names in logs and descriptions
            yield from ((name, word) for name in called[system] - {"", *words})

    def _products(self) -> set[str]:
        """The names of accelerators and frameworks."""
        descriptions = [result.description for result in self.results if result.description]
        names = {description.accelerator_model_name for description in descriptions}
        return (names | {description.framework for description in descriptions}) - {""}

    def replacer(self, paths: Iterable[str], benchmarks: set[str]) -> Replace:
        """A function that replaces every name in a string.

        `paths` are those of all files: a name that only one submission has identifies it, too.
        """
        replacements = {name.casefold(): word for name, word in self.words.items()}
        replacements |= {plain_name(name).casefold(): word for name, word in self.words.items()}
        unchanged = {name.casefold() for name in benchmarks} | replacements.keys() | KEPT
        owners = _owners(paths)
        parts = replacements | _file_words(owners, unchanged)
        shared = {name for name, holders in owners.items() if len(holders) > 1}
        outside = shared | unchanged | ROOTS | {*parts.values()}
        # A folder may be named with a common word, which is replaced in paths only
        files = {name: word for name, word in parts.items() if not name.isalpha()}
        within = self._within({part for name in benchmarks for part in _parts(name)})
        name_pattern = _whole_names(self.words)
        products = {name: _without_vendor(name, name_pattern) for name in self.products}
        product_names = sorted(
            (product for product in products if product != products[product]), key=len
        )[::-1]
        product = re.compile("|".join(map(re.escape, product_names)) or r"(?!)")

        def named(match: re.Match[str]) -> str:
            return replacements.get(match[0].casefold()) or _by_letters(match[0], self.words)

        def pathed(match: re.Match[str]) -> str:
            split = [parts.get(part.casefold(), part) for part in match[0].split("/")]
            if _OUTSIDE.match(match[0]):
                # The folders of a machine name people, companies and projects
                split = [part if _is_kept(part, outside) else "name" for part in split]
            return "/".join(split)

        def hide(text: str) -> str:
            text = product.sub(lambda match: products[match[0]], text)
            if "/" in text:
                text = "/".join(replacements.get(part.casefold(), part) for part in text.split("/"))
                text = _PATH.sub(pathed, text)
            text = _FILE_NAME.sub(lambda match: files.get(match[0].casefold(), match[0]), text)
            text = name_pattern.sub(named, text)
            return _WORD.sub(lambda match: within.get(match[0].casefold(), match[0]), text)

        return hide

    def _within(self, plain: set[str]) -> dict[str, str]:
        """Words in names of systems that only one submitter uses, except words of products."""
        plain = {word for name in self.products for word in _parts(name)} | COMMON | plain
        owners: dict[str, set[str]] = defaultdict(set)
        for result in self.results:
            for name in _names_of(result):
                for part in _parts(name):
                    owners[part].add(result.place.submitter)
        names = {
            word
            for word, holders in owners.items()
            if len(holders) == 1
            and len(word) >= LEAST_WORD
            and word not in plain
            # Sizes, such as 8x and n16, are compared
            and sum(map(str.isalpha, word)) >= LEAST
        }
        return dict.fromkeys(names, "name")


def _names_of(result: Result) -> Iterator[str]:
    yield result.place.system
    if result.description is not None:
        yield result.description.system_name
    yield from {run.facts.platform or "" for run in result.runs}


def _parts(name: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(name)}


def _words(names: Iterable[str], form: str, shuffled: random.Random) -> dict[str, str]:
    ordered = sorted({*names} - {""})
    shuffled.shuffle(ordered)
    return {name: form.format(number) for number, name in enumerate(ordered, 1)}


def _is_kept(part: str, shared: AbstractSet[str]) -> bool:
    return part.casefold() in shared or sum(map(str.isalpha, part)) < LEAST


def _owners(paths: Iterable[str]) -> dict[str, set[str]]:
    """The submissions that have a file or folder of each name."""
    owners: dict[str, set[str]] = defaultdict(set)
    for path in paths:
        submission, *parts = path.split("/")
        for part in parts:
            owners[part.casefold()].add(submission)
    return owners


def _file_words(
    owners: Mapping[str, AbstractSet[str]], unchanged: AbstractSet[str]
) -> dict[str, str]:
    """A replacement for each name of a file or folder that only one submission has."""
    replacements: dict[str, str] = {}
    for name, holders in owners.items():
        if len(holders) == 1 and name not in unchanged and not _RESULT_FILE.fullmatch(name):
            stem, dot, ending = name.rpartition(".")
            # A system's name may contain a dot
            plain = dot and stem and ending.isalpha() and len(ending) <= LEAST_WORD + 1
            replacements[name] = f"file-{len(replacements) + 1:04}{f'.{ending}' if plain else ''}"
    return replacements


def _whole_names(words: Iterable[str]) -> re.Pattern[str]:
    """A pattern for all names, longest first, with any separators between their parts."""
    # A name of only digits, such as a system's, would match every number
    names = [name for name in words if sum(map(str.isalpha, name)) >= LEAST]
    forms = [
        r"[-_ +.,]*".join(map(re.escape, filter(None, _SEPARATOR.split(name))))
        for name in sorted(names, key=len, reverse=True)
    ]
    alternatives = "|".join(filter(None, forms)) or r"(?!)"
    return re.compile(rf"(?<![A-Za-z0-9])(?:{alternatives})(?![A-Za-z0-9])", re.IGNORECASE)


def _by_letters(text: str, words: Mapping[str, str]) -> str:
    """The replacement for a name that is spelled with other separators."""
    spelled = _SEPARATOR.sub("", text).casefold()
    same = (word for name, word in words.items() if _SEPARATOR.sub("", name).casefold() == spelled)
    return next(same, "name")


def _without_vendor(name: str, submitters: re.Pattern[str]) -> str:
    """A product without the submitter that makes it: the product already identifies its maker."""
    return submitters.sub("", name).strip(" -_") or name


def _mapped(value: Any, hide: Replace) -> Any:
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, dict):
        return {
            key: member if key in FIXED else _mapped(member, hide) for key, member in value.items()
        }
    if isinstance(value, list | tuple):
        return [_mapped(member, hide) for member in value]
    return value
