"""Groups of findings: complete, with correct paths, and short enough to read."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.compliance.judging.options import Options
from podium.compliance.judging.pipeline import check_paths
from podium.compliance.reporting.data import Outcome
from podium.compliance.reporting.grouping import Group, excuse_of, groups_of, merged, own_findings
from podium.compliance.reporting.placing import places_of
from podium.compliance.reporting.render import text
from podium.rules.finding import DROPPED_RUN, Finding, Severity
from tests.compliance.render_reports import (
    CALM,
    LLAMA,
    REPORTS,
    big_round,
    entries,
    finding,
    one_fault_in_ten_runs,
    report,
)
from tests.locations import CORPUS

# --- every finding is in a group ------------------------------------------------------------------


def everything(groups: list[Group]) -> list[int]:
    return sorted(id(each) for group in groups for each in (*group.findings, *group.following))


@CALM
@given(REPORTS, st.booleans())
def test_each_finding_is_in_exactly_one_group(made: Outcome, one_message: bool) -> None:
    wanted = sorted(map(id, made.findings))
    assert everything(groups_of(made, lambda _: one_message)) == wanted
    assert everything(merged(made)) == wanted


@CALM
@given(REPORTS)
def test_a_group_has_one_rule_severity_and_waived_state(made: Outcome) -> None:
    for group in groups_of(made):
        assert len({(f.id, f.severity, f.key, f.waived) for f in group.findings}) == 1
        # The other violations of a dropped run follow from the end of the run
        assert {excuse_of(each) for each in group.following} <= {"", DROPPED_RUN}
        assert not (group.excuse and group.following)


@CALM
@given(REPORTS)
def test_groups_list_exactly_the_findings_that_are_not_consequences(made: Outcome) -> None:
    found = [id(each) for group in groups_of(made) for each in group.findings]
    assert sorted(found) == sorted(map(id, own_findings(made)))


def test_the_counts_of_the_summary_add_up_to_the_findings() -> None:
    made = big_round()
    full, short = text.render(made, full=True), text.render(made)
    for line in short.splitlines()[:4][1:]:
        name, *_, errors, warnings = line.split()
        for number, severity in ((errors, "error"), (warnings, "warning")):
            own = [f for f in made.findings if not f.waived and not f.caused_by]
            assert int(number) == sum(
                f.path.startswith(f"{name}/") and f.severity == severity for f in own
            )
    heads = re.findall(r"^  (?:error|warning|note|waived) ", full, re.MULTILINE)
    assert len(heads) == len(made.findings)
    following = sum(map(int, re.findall(r"(\d+) dependent findings?", short)))
    assert following == made.counts.caused == sum(bool(f.caused_by) for f in made.findings)


# --- grouping and order ---------------------------------------------------------------------------


def reported(*findings: Finding, one_message: bool = False) -> list[list[str]]:
    groups = groups_of(report([*findings]), lambda _: one_message)
    return [[each.message for each in group.findings] for group in groups]


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        ("x is 0.8; must be 1", "x is 0.75; must be 1", True),
        ('x is "a b"; must be 1', "x is null; must be 1", True),
        ("x is [1, 2]; must be 1", "x is [3]; must be 1", True),
        ("first at a/b/result_1.txt", "first at c/result_2.txt", True),
        ("no line is right", "no line is right (and 4 more in this log)", True),
        ("x is 0.8; must be 1", "x is not logged; must be 1", False),
        ("x is early", "x is late", False),
    ],
)
def test_messages_that_differ_only_in_values_are_one_group(
    one: str, other: str, together: bool
) -> None:
    findings = finding("a", message=one), finding("b", message=other)
    assert len(reported(*findings)) == 2 - together
    # The messages of a rule with one template need no comparison
    assert len(reported(*findings, one_message=True)) == 1
    assert len(reported(findings[0], finding("b", message=other, key="other"))) == 2


def test_a_rule_is_looked_up_only_if_its_messages_differ() -> None:
    asked: list[str] = []
    made = report(
        [finding("a"), finding("b"), finding("a", id="n", message="x"), finding("b", id="n")]
    )
    groups_of(made, lambda rule: bool(asked.append(rule)))
    assert asked == ["n"]


def test_a_consequence_of_a_consequence_is_in_the_group_of_the_first_cause() -> None:
    cut = finding("a", 1, id="log.cut")
    stop = finding("a", 2, id="b", caused_by="log.cut")
    score = finding("c", 3, id="c", caused_by="b")
    [group] = groups_of(report([score, stop, cut]))
    assert (group.first.id, {each.id for each in group.following}) == ("log.cut", {"b", "c"})


@pytest.mark.parametrize(
    "causes", [{"b": "none"}, {"b": "b"}, {"b": "c", "c": "b"}], ids=["absent", "itself", "circle"]
)
def test_a_finding_whose_cause_is_absent_or_circular_is_a_separate_group(
    causes: dict[str, str],
) -> None:
    found = [finding("a", id=rule, caused_by=cause) for rule, cause in causes.items()]
    assert [group.first.id for group in groups_of(report(found))] == [*causes]


def test_a_consequence_needs_an_unwaived_cause_in_the_same_submission() -> None:
    said = entries("acme/results/s/b", "bolt/results/s/b")
    cause = finding("acme/a", id="log.cut")
    late = finding("bolt/a", id="b", caused_by="log.cut")
    assert len(groups_of(report([cause, late], **said))) == 2
    assert (
        len(groups_of(report([cause, finding("acme/b", id="b", caused_by="log.cut")], **said))) == 1
    )
    waived = finding("acme/a", id="log.cut", waived=True)
    groups = groups_of(report([waived, finding("acme/a", id="b", caused_by="log.cut")], **said))
    assert [(group.first.id, group.excuse) for group in groups] == [
        ("b", ""),
        ("log.cut", "review"),
    ]


def test_groups_are_sorted_by_severity() -> None:
    made = report(
        [
            finding("a", id="e"),
            finding("a", id="n", severity=Severity.NOTE),
            finding("a", id="w", severity=Severity.WARNING),
            finding("b", id="w", severity=Severity.WARNING),
            finding("a", id="z", severity=Severity.WARNING, official=True),
            finding("a", id="d", waived=True, waived_by="dropped run"),
            finding("a", id="r", waived=True, waived_by="waivers.toml"),
        ]
    )
    assert [group.first.id for group in groups_of(made)] == ["e", "z", "w", "n", "r", "d"]


# --- places ---------------------------------------------------------------------------------------

PART = st.sampled_from(["a", "b", "sys", "s1", "s2", "results"])
FILE = st.builds("{}{}{}".format, st.sampled_from(["r_", "", "x"]), st.integers(0, 12), PART)
ANY_PATHS = st.lists(
    st.builds(lambda folders, name: "/".join([*folders, name]), st.lists(PART, max_size=3), FILE),
    max_size=30,
)


def expanded(pattern: str) -> set[str]:
    """Return the paths that a pattern with braces expands to."""
    parts = re.split(r"\{([^{}]*)\}", pattern)
    choices = [_members(part) if at % 2 else [part] for at, part in enumerate(parts)]
    return {"".join(choice) for choice in itertools.product(*choices)}


def _members(braces: str) -> list[str]:
    members: list[str] = []
    for member in braces.split(","):
        low, dots, high = member.partition("..")
        if dots:
            members += [str(n).zfill(len(low)) for n in range(int(low), int(high) + 1)]
        else:
            members.append(member)
    return members


@given(ANY_PATHS, st.integers(1, 4))
def test_places_cover_each_path_exactly_once(paths: list[str], most: int) -> None:
    places = places_of(paths, most)
    assert sorted(path for place in places for path in place.paths) == sorted(set(paths))
    for place in places:
        if "*" in place.pattern:
            stars = re.compile("[^/]*".join(map(re.escape, place.pattern.split("*"))))
            if "{" not in place.pattern:
                assert all(stars.fullmatch(path) for path in place.paths)
        else:
            assert expanded(place.pattern) == set(place.paths)


@pytest.mark.parametrize(
    ("paths", "patterns"),
    [
        (["a/r_7.txt"], ["a/r_7.txt"]),
        ([f"a/r_{n}.txt" for n in range(10)], ["a/r_{0..9}.txt"]),
        ([f"a/r_{n}.txt" for n in (0, 1, 5, 6, 7)], ["a/r_{0,1,5..7}.txt"]),
        ([f"a/r_{n:02}.txt" for n in range(8, 12)], ["a/r_{08..11}.txt"]),
        ([f"{s}/r_{n}.txt" for s in "ab" for n in range(4)], ["{a,b}/r_{0..3}.txt"]),
        ([f"{s}/r_{n}.txt" for s in "abc" for n in range(4)], ["*/r_{0..3}.txt"]),
        ([f"{s}/x/r_{n}" for n, s in enumerate("abcd")], ["*/x/r_*"]),
        (["README.md", "a/README.md"], ["README.md", "a/README.md"]),
        ([""], [""]),
    ],
)
def test_paths_are_shortened_to_patterns(paths: list[str], patterns: list[str]) -> None:
    assert [place.pattern for place in places_of(paths)] == patterns


@CALM
@given(REPORTS)
def test_places_keep_all_paths_with_hostile_names(made: Outcome) -> None:
    paths = {each.path for each in made.findings}
    assert {path for place in places_of(paths) for path in place.paths} == paths


# --- length of the page ---------------------------------------------------------------------------


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("submissions", [1, 3, 12, 40, 200])
def test_a_page_has_at_most_250_lines_and_mentions_the_full_option(
    submissions: int, width: int
) -> None:
    made = big_round(submissions)
    for quiet in (False, True):
        lines = text.render(made, width=width, quiet=quiet).splitlines()
        assert len(lines) <= 250
    assert any("--full prints every finding" in line for line in text.render(made).splitlines())
    assert text.render(made).splitlines()[-1] == "REJECTED"


def test_one_error_in_ten_runs_is_printed_in_25_lines() -> None:
    lines = text.render(one_fault_in_ten_runs()).splitlines()
    assert len(lines) <= 25
    assert f"         {LLAMA}/result_{{0..9}}.txt" in lines


def test_larger_reports_omit_the_details_of_less_severe_findings_first() -> None:
    def blocks(submissions: int) -> list[int]:
        reported = text.render(big_round(submissions))
        found = [
            re.findall(rf"^{each} +\[", reported, re.MULTILINE)
            for each in ("error", "warning", "note")
        ]
        return [len(each) for each in found]

    one, three, many = blocks(1), blocks(3), blocks(200)
    assert min(one) > 0
    assert three[0] > 0
    assert three[2] == 0
    assert many == [0, 0, 0]


def test_details_of_findings_that_the_verifier_rejects_are_kept_longer() -> None:
    def warning(number: int, official: bool) -> Finding:
        rule, path = f"rule-{number}", f"r_{number}.txt"
        return finding(path, id=rule, severity=Severity.WARNING, official=official)

    made = text.render(report([warning(number, number == 7) for number in range(100)]))
    assert re.findall(r"^warning  \[(.*)\]", made, re.MULTILINE) == ["rule-7"]
    assert len(re.findall(r"^warning  rule-\d+  ", made, re.MULTILINE)) == 99


def test_findings_in_a_few_files_are_printed_in_full() -> None:
    made = report([finding("a.txt"), finding("b.txt", message="other", hint="do that")])
    lines = text.render(made).splitlines()
    assert {"         a.txt:24", "         b.txt:24", "         help: do that"} <= {*lines}
    assert not any("--full" in line for line in lines)


def test_a_report_on_one_file_lists_the_error_and_counts_consequences() -> None:
    made = report(
        [
            finding("a.txt", 3, id="log.cut", message="the log ends in a line that is cut"),
            finding("a.txt", 9, id="b", caused_by="log.cut"),
            finding("a.txt", None, id="c", caused_by="log.cut"),
        ],
        "a.txt",
    )
    lines = text.render(made).splitlines()
    assert lines[0] == "FAIL  a.txt  (llama31_8b, closed)"
    assert lines[1].split() == ["error", "a.txt:3", "[log.cut]"]
    assert "           2 dependent findings" in lines
    assert not any("[b]" in line or "[c]" in line for line in lines)
    assert "[b]" in text.render(made, full=True)
    assert "1 error, 0 warnings, 0 notes, 0 waived, 2 dependent" in " ".join(lines)


@pytest.mark.corpus
@pytest.mark.parametrize("round_", ["0.6", "1.1"])
def test_the_report_of_a_published_round_has_at_most_250_lines(round_: str) -> None:
    made = check_paths([CORPUS / f"training_results_v{round_}"], Options(jobs=1))
    assert len(made.findings) > 400
    assert len(text.render(made).splitlines()) <= 250
