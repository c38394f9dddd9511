"""Every rule outside the tables: a violation, its correction, and the severities."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest

from podium.compliance import check
from podium.compliance.rulebook.fixed_rules import FIXED_RULES
from podium.rules.finding import Profile, Severity, StatedBy
from podium.rules.fixed.edits import Edit
from podium.rules.fixed.fixed_rule import FixedRule, both, named_fields, note, own, policy, verifier
from tests.compliance.edits import apply
from tests.compliance.rulebook.cases import CASES, Found
from tests.compliance.trees import usual
from tests.locations import ROOT

CASES_FILE = "tests/compliance/rulebook/cases.py"

each_rule = pytest.mark.parametrize("rule", FIXED_RULES, ids=lambda rule: rule.id)


def found(rule: FixedRule, violated: bool, place: Path) -> dict[Profile, list[Found]]:
    """Return the findings of a rule on its violation, or on its correction."""
    if isinstance(rule.bad, str):
        assert rule.id in CASES, f"{rule.id} gives no edit as `bad`: add a case to {CASES_FILE}"
        judge = CASES[rule.id][0 if violated else 1]
        places = {profile: place / profile for profile in Profile}
        for folder in places.values():
            folder.mkdir()
        findings = {profile: [*judge(folder, profile)] for profile, folder in places.items()}
    else:
        edits = rule.bad if violated else rule.good or ()
        assert not isinstance(edits, str), "the fix of an edit is an edit"
        findings = checked(place, edits) if edits else unchanged()
    return {
        profile: [finding for finding in among if finding.id == rule.id]
        for profile, among in findings.items()
    }


def checked(place: Path, edits: tuple[Edit, ...]) -> dict[Profile, list[Found]]:
    tree = usual(place)
    apply(tree.root, edits)
    return {
        profile: [*check(tree.root, usage="training", round="5.1", profile=profile).findings]
        for profile in Profile
    }


@cache
def unchanged() -> dict[Profile, list[Found]]:
    """Return the findings on the usual submission, which complies with most rules."""
    with TemporaryDirectory() as folder:
        return checked(Path(folder), ())


# --- cases ---


@each_rule
def test_a_violation_is_reported_with_the_declared_severity(
    rule: FixedRule, tmp_path: Path
) -> None:
    for profile, findings in found(rule, True, tmp_path).items():
        has_the_severity_of(rule, profile, findings)


def has_the_severity_of(rule: FixedRule, profile: Profile, findings: list[Found]) -> None:
    weight = rule.severity if profile is Profile.POLICY else rule.in_verifier
    if weight is None:
        assert not findings, f"{rule.id} is declared not to be reported in the {profile} profile"
        return
    assert findings, (
        f"{rule.id} is not reported for what it gives as `bad`: does the judge of these files call "
        f"the function that finds it, in the {profile} profile?"
    )
    for each in findings:
        wanted = rule.severity_in(profile, StatedBy(each.stated_by))
        assert each.severity == wanted, (
            f"{rule.id} is declared as {wanted} in the {profile} profile, got {each.severity}"
        )
    if profile is Profile.POLICY:
        stated_by = {each.stated_by for each in findings}
        assert rule.stated_by in stated_by, (
            f"{rule.id} is stated by {rule.stated_by}, its findings are by {stated_by}"
        )


@each_rule
def test_the_correction_of_a_violation_is_not_reported(rule: FixedRule, tmp_path: Path) -> None:
    findings = found(rule, False, tmp_path)
    assert not any(findings.values()), f"{rule.id} is reported for what it gives as `good`"


@each_rule
def test_a_rule_has_an_example_and_texts(rule: FixedRule) -> None:
    assert rule.bad, f"{rule.id} has no `bad`: give an edit that violates it, or a sentence"
    shown_by_edits = not isinstance(rule.bad, str)
    assert shown_by_edits or rule.id in CASES, (
        f"{rule.id} gives a sentence as `bad`: add a case to {CASES_FILE}"
    )
    assert not (shown_by_edits and rule.id in CASES), (
        f"{rule.id} gives edits as `bad`: remove its case from {CASES_FILE}"
    )
    for name in ("says", "why", "message", "help"):
        assert getattr(rule, name), f"{rule.id} has no `{name}`"
    assert not rule.says.endswith("."), f"`says` of {rule.id} ends with a period"
    assert rule.says[:1].islower() or rule.says.split()[0] in ("HPC", "Windows"), (
        f"`says` of {rule.id} begins with a capital letter"
    )


def test_every_case_belongs_to_a_rule() -> None:
    unknown = {*CASES} - {rule.id for rule in FIXED_RULES}
    assert not unknown, f"these cases are of no rule: {sorted(unknown)}"


# --- declarations ---


class Declaration(NamedTuple):
    """The declaration of a rule: its module, its constant and its id."""

    module: str
    name: str
    id: str


CONSTRUCTORS = {"both", "policy", "policy_in_both", "note", "own", "verifier", "FixedRule"}


@cache
def sources() -> dict[str, ast.Module]:
    paths = sorted((ROOT / "compliance").rglob("*.py"))
    return {
        "podium." + ".".join(path.relative_to(ROOT).with_suffix("").parts): ast.parse(
            path.read_text(encoding="utf-8")
        )
        for path in paths
    }


@cache
def declarations() -> tuple[Declaration, ...]:
    """Return every module-level constant of the package that is made by one of the constructors."""
    return tuple(
        Declaration(module, node.targets[0].id, node.value.args[0].value)
        for module, tree in sources().items()
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name)
        and node.value.func.id in CONSTRUCTORS
        and node.value.args
        and isinstance(node.value.args[0], ast.Constant)
        and isinstance(node.value.args[0].value, str)
        and "." in node.value.args[0].value
    )


def test_every_rule_is_declared_once_and_listed_once() -> None:
    listed = Counter(rule.id for rule in FIXED_RULES)
    declared = Counter(each.id for each in declarations())
    faults = [
        f"{each.name} ({each.id}) of {each.module} is not listed: add its module to "
        "JUDGING_RULES or FIXED_RULES"
        for each in declarations()
        if each.id not in listed
    ]
    faults += [
        f"{rule} is listed, and no constant of a module declares it"
        for rule in listed.keys() - declared.keys()
    ]
    faults += [f"{rule} is declared {count} times" for rule, count in declared.items() if count > 1]
    faults += [f"{rule} is listed {count} times" for rule, count in listed.items() if count > 1]
    assert not faults, "\n".join(faults)


def test_every_declared_rule_is_reported() -> None:
    silent = [
        f"nothing reports {each.id}: call {each.name}.found in the function that judges"
        for each in declarations()
        if not any(use.makes(each) for use in uses())
    ]
    assert not silent, "\n".join(silent)


def test_every_rule_is_declared_in_a_rules_module() -> None:
    """Contributors look for NAME_rules.py."""
    elsewhere = [
        f"{each.name} is declared in {each.module}: move it to a module called NAME_rules"
        for each in declarations()
        if not each.module.endswith("_rules")
    ]
    assert not elsewhere, "\n".join(elsewhere)


class Use(NamedTuple):
    """The names that a module uses, except to declare and list rules."""

    module: str
    names: frozenset[str]
    attributes: frozenset[tuple[str, str]]
    imported: frozenset[tuple[str, str]]

    def makes(self, rule: Declaration) -> bool:
        """Return whether the module uses the rule: its own, imported, or as an attribute."""
        if self.module == rule.module or (rule.module, rule.name) in self.imported:
            return rule.name in self.names
        return (rule.module.rpartition(".")[2], rule.name) in self.attributes


@cache
def uses() -> tuple[Use, ...]:
    return tuple(_use(module, tree) for module, tree in sources().items())


def _use(module: str, tree: ast.Module) -> Use:
    nodes = [*_working_nodes(tree)]
    return Use(
        module,
        frozenset(n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)),
        frozenset(
            (n.value.id, n.attr)
            for n in nodes
            if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)
        ),
        frozenset(
            (n.module or "", alias.name)
            for n in nodes
            if isinstance(n, ast.ImportFrom)
            for alias in n.names
        ),
    )


def _working_nodes(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the syntax nodes of a module, except those of its RULES."""
    for statement in tree.body:
        target = getattr(statement, "target", None) or next(
            iter(getattr(statement, "targets", ())), None
        )
        if not (isinstance(target, ast.Name) and target.id == "RULES"):
            yield from ast.walk(statement)


# --- the class ---

TEXTS = {
    "says": "a is b",
    "why": "c",
    "message": "a is {a}",
    "help": "write {{b}} for {a}",
    "cites": "rules, X",
}


def test_a_finding_is_formatted_from_the_templates_of_its_rule() -> None:
    rule = policy("x.y", **TEXTS, expected="not {a}", actual="a")
    finding = rule.found(Profile.POLICY, "p", line=3, key="k", a=7, remark=" (and 2 more)")
    assert (finding.message, finding.hint) == ("a is 7 (and 2 more)", "write {b} for 7")
    assert (finding.expected, finding.actual, finding.cites) == ("not 7", 7, "rules, X")
    assert (finding.id, finding.path, finding.line, finding.key) == ("x.y", "p", 3, "k")
    assert (rule.general_message, rule.general_help) == ("a is <a>", "write {b} for <a>")


@pytest.mark.parametrize(
    ("rule", "in_policy", "in_verifier"),
    [
        (both("x.y", **TEXTS), "error", "error"),
        (both("x.y", Severity.NOTE, **TEXTS), "note", "note"),
        (policy("x.y", **TEXTS), "warning", ""),
        (policy("x.y", Severity.ERROR, **TEXTS), "error", ""),
        (note("x.y", **TEXTS), "note", ""),
        (verifier("x.y", **TEXTS), "warning", "error"),
        (verifier("x.y", in_verifier=None, **TEXTS), "warning", ""),
        (own("x.y", **TEXTS), "warning", ""),
        (own("x.y", Severity.NOTE, Severity.NOTE, **TEXTS), "note", "note"),
    ],
)
def test_a_rule_has_a_severity_for_each_profile(
    rule: FixedRule, in_policy: str, in_verifier: str
) -> None:
    assert rule.reported == {Profile.POLICY: in_policy, Profile.VERIFIER: in_verifier}


def test_only_a_varying_rule_accepts_another_severity_or_source() -> None:
    fixed, varying = both("x.y", **TEXTS), both("x.y", varies="seldom", **TEXTS)
    for other in ({"stated_by": StatedBy.POLICY}, {"severity": Severity.NOTE}):
        with pytest.raises(ValueError, match=r"x\.y"):
            fixed.found(Profile.POLICY, "p", a=1, **other)
    weaker = varying.found(Profile.POLICY, "p", a=1, stated_by=StatedBy.VERIFIER)
    assert (weaker.severity, weaker.stated_by) == (Severity.WARNING, StatedBy.VERIFIER)
    assert varying.found(Profile.POLICY, "p", a=1, severity=Severity.NOTE).severity == "note"


def test_a_finding_that_only_the_verifier_states_cites_its_program() -> None:
    rule = both("seeds.x", varies="seldom", **TEXTS)
    found = rule.found(Profile.POLICY, "p", a=1)
    varied = rule.found(Profile.POLICY, "p", a=1, stated_by=StatedBy.VERIFIER)
    assert (found.cites, varied.cites) == ("rules, X", "official verifier, seed_checker")
    named = both("seeds.x", varies="seldom", **TEXTS | {"cites": "rules, X; official verifier, y"})
    varied = named.found(Profile.POLICY, "p", a=1, stated_by=StatedBy.VERIFIER)
    assert varied.cites == "official verifier, y"
    bare = {name: text for name, text in TEXTS.items() if name != "cites"}
    assert verifier("tree.x", **bare).cites == "official verifier, package_checker"


def test_fields_become_placeholders_in_the_general_message() -> None:
    assert named_fields("{a!r} has {b:.1f} of {{c}}") == "<a> has <b> of {c}"
