"""A fact that several rules report is one finding; the other findings name it as the cause."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.compliance.judging.consequences import follows_of, mark_consequences
from podium.compliance.judging.declared_rules import JUDGING_RULES
from podium.compliance.reporting.models import FindingEntry, Report
from podium.compliance.rulebook.fixed_rules import FIXED_RULES
from podium.rules.checks.catalogue import HPC
from podium.rules.consequences import ROWS
from podium.rules.finding import Finding, Severity
from tests.builders import LogBuilder
from tests.compliance.command_line import podium
from tests.compliance.trees import Submission, usual


def own(report: Report) -> list[FindingEntry]:
    return [found for found in report.findings if not found.caused_by]


def following(report: Report, cause: str) -> set[str]:
    return {found.id for found in report.findings if found.caused_by == cause}


def as_open(log: LogBuilder) -> LogBuilder:
    return log.set("submission_division", "open")


@pytest.mark.parametrize("wrong", ["description", "logs"])
def test_a_division_that_no_log_has_is_reported_at_the_description(
    wrong: str, tmp_path: Path
) -> None:
    tree = usual(tmp_path)
    if wrong == "logs":
        tree.result(change=as_open)
    else:
        tree.system(division="open")
    report = tree.check()
    [found] = own(report)
    assert (found.id, found.path) == ("system.division-mismatch", "systems/ex_n8.json")
    text = (tree.root / found.path).read_text().splitlines()
    assert found.line is not None
    assert '"division"' in text[found.line - 1]
    assert "all 3 logs" in found.message
    assert "result.other-division" in following(report, found.id)
    assert {report.results[0].verdict, report.submissions[0].verdict} == {"rejected"}
    assert report.counts.error == 1


def test_one_log_of_another_division_is_reported_at_its_line(tmp_path: Path) -> None:
    tree = usual(tmp_path)
    tree.log(1, as_open)
    report = tree.check()
    [found] = own(report)
    log = (tree.root / tree.folder() / "result_1.txt").read_text().splitlines()
    assert (found.id, found.path) == ("result.other-division", f"{tree.folder()}/result_1.txt")
    assert found.line is not None
    assert '"submission_division"' in log[found.line - 1]


def test_a_division_in_other_case_is_not_another_division(tmp_path: Path) -> None:
    tree = usual(tmp_path)
    tree.result(change=lambda log: log.set("submission_division", "Closed"))
    ids = {found.id for found in tree.check().findings}
    assert not ids & {"result.other-division", "system.division-mismatch"}


def test_a_result_folder_is_checked_against_its_description(tmp_path: Path) -> None:
    tree = usual(tmp_path).system(division="open")
    done = podium(
        "check", tree.root / tree.folder(), "--round", "5.1", "--format", "json", columns=80
    )
    found = [each for each in json.loads(done.stdout)["findings"] if not each["caused_by"]]
    assert [each["id"] for each in found] == ["system.division-mismatch"]
    assert (tree.root / tree.folder() / found[0]["path"]).resolve() == (
        tree.root / "systems" / "ex_n8.json"
    )


def test_the_mismatch_of_another_system_is_not_a_consequence(tmp_path: Path) -> None:
    tree = usual(tmp_path).system(division="open").system("other", system_name="other n8")
    tree.result("other", change=lambda log: log.set("submission_division", "open"), start=20)
    tree.log(1, as_open, "ex_n8")
    report = tree.check()
    roots = {(found.id, found.path) for found in own(report)}
    # The first system has a log that agrees, so its other two logs are wrong
    assert ("system.division-mismatch", "systems/other.json") in roots
    assert ("system.division-mismatch", "systems/ex_n8.json") not in roots
    assert {found.path for found in own(report) if found.id == "result.other-division"} == {
        f"{tree.folder()}/result_0.txt",
        f"{tree.folder()}/result_2.txt",
    }


def test_an_empty_log_is_one_finding(tmp_path: Path) -> None:
    tree = usual(tmp_path)
    (tree.root / tree.folder() / "result_1.txt").write_text("")
    report = tree.check()
    assert [found.id for found in own(report)] == ["log.no-records"]
    assert {"seeds.none", "result.broken-run-dropped"} <= following(report, "log.no-records")
    assert report.official_verdict == "rejected"


def test_the_text_report_counts_consequences_that_reject_officially(tmp_path: Path) -> None:
    tree = usual(tmp_path)
    for number in range(3):
        lines = (tree.root / tree.folder() / f"result_{number}.txt").read_text().splitlines()
        doubled = "".join(f"{line}\n{line}\n" for line in lines)
        (tree.root / tree.folder() / f"result_{number}.txt").write_text(doubled)
    done = podium("check", tree.root, "--round", "5.1")
    assert "of them" in " ".join(done.stdout.split())
    assert "OFFICIAL VERIFIER: rejects" in done.stdout


def test_a_missing_or_invalid_seed_is_one_finding(tmp_path: Path) -> None:
    tree = usual(tmp_path)
    tree.log(1, lambda log: log.drop("seed"))
    report = tree.check()
    assert [found.id for found in own(report)] == ["seeds.none"]
    tree.log(1, lambda log: log.set("seed", "x"))
    assert [found.id for found in own(tree.check())] == ["seeds.not-integer"]


def test_a_missing_source_file_is_one_finding(tmp_path: Path) -> None:
    tree = usual(tmp_path)
    ours = tree.root / "benchmarks" / tree.benchmark / "implementations" / "ours"
    (ours / "train.py").rename(ours / "other.py")
    report = tree.check()
    assert [found.id for found in own(report)] == ["code.source-not-found"]
    assert following(report, "code.source-not-found") == {"seeds.source"}


def test_a_seed_logged_by_a_text_file_is_a_separate_finding(tmp_path: Path) -> None:
    tree = usual(tmp_path)
    tree.log(1, lambda log: log.meta("seed", file="/workspace/notes.txt", lineno=3))
    assert "seeds.source" in {found.id for found in own(tree.check())}


def test_unrelated_errors_are_not_consequences(tmp_path: Path) -> None:
    tree = usual(tmp_path).system(division="open", submitter="Nobody")
    tree.log(1, lambda log: log.set("opt_name", "sgd"))
    ids = {found.id for found in own(tree.check())}
    assert {"system.division-mismatch", "system.name-mismatch", "closed.llama31_405b.opt_name"} <= (
        ids
    )


def test_a_wrong_submitter_in_the_description_is_one_finding(tmp_path: Path) -> None:
    tree = usual(tmp_path).system(submitter="Nobody")
    report = tree.check()
    [found] = own(report)
    assert found.id == "system.name-mismatch"
    assert found.line is not None
    assert following(report, "system.name-mismatch") == {"system.submitter-mismatch"}
    # Another submitter in the logs is a separate finding
    third = usual(tmp_path / "third").system(submitter="Nobody")
    third.result(change=lambda log: log.set("submission_org", "Somebody"))
    assert {found.id for found in own(third.check())} == {
        "system.name-mismatch",
        "system.submitter-mismatch",
    }


def test_an_unsupported_scaling_factor_is_not_a_consequence(tmp_path: Path) -> None:
    tree = Submission(tmp_path, usual(tmp_path / "good").which).system().code().result()
    (tree.root / tree.folder() / "result_1.txt").write_text("")
    tree.write(f"{tree.folder()}/scaling.json", '{"scaling_factor": 0.5}')
    ids = {found.id for found in own(tree.check())}
    assert ids == {"log.no-records", "result.unsupported-scaling"}


def test_missing_fields_are_a_consequence_of_a_truncated_description(tmp_path: Path) -> None:
    tree = usual(tmp_path)
    path = tree.root / "systems" / "ex_n8.json"
    text = path.read_text()
    path.write_text(text[: len(text) // 2])
    report = tree.check()
    [found] = [each for each in own(report) if each.id.startswith("system.")]
    assert found.id == "system.not-json"
    assert following(report, "system.not-json") == {"system.missing-field"}
    # A trailing comma hides no fields
    fields = json.loads(text)
    del fields["framework"]
    path.write_text(json.dumps(fields, indent=1)[:-2] + ",\n}")
    assert {each.id for each in own(tree.check()) if each.id.startswith("system.")} == {
        "system.not-json",
        "system.missing-field",
    }


def test_a_hidden_file_among_the_logs_is_reported_once(tmp_path: Path) -> None:
    tree = usual(tmp_path)
    tree.write(f"{tree.folder()}/.DS_Store", "x")
    tree.write(f"{tree.folder()}/notes.doc", "x")
    report = tree.check()
    assert {(found.id, Path(found.path).name) for found in own(report)} == {
        ("repo.leading-dot", ".DS_Store"),
        ("tree.unknown-file", "notes.doc"),
    }
    assert report.official_verdict == "rejected"


# --- a log that cannot be read ---


def _folder(log: Path) -> None:
    log.mkdir()


def _dangling_link(log: Path) -> None:
    log.symlink_to("gone.txt")


def _link_out_of_the_tree(log: Path) -> None:
    log.symlink_to(log.parents[4] / "elsewhere.txt")


@pytest.mark.parametrize("replace", [_folder, _dangling_link, _link_out_of_the_tree])
def test_a_log_that_cannot_be_read_is_one_error(
    replace: Callable[[Path], None], tmp_path: Path
) -> None:
    tree = usual(tmp_path / "acme")
    (tmp_path / "elsewhere.txt").write_text("")
    log = tree.root / tree.folder() / "result_1.txt"
    log.unlink()
    replace(log)
    report = tree.check()
    [found] = own(report)
    assert (found.id, tree.root / found.path) == ("log.unreadable-file", log)
    assert "log.no-records" in following(report, "log.unreadable-file")
    assert report.counts.error == 1
    assert report.counts.caused == len(report.findings) - 1 > 10
    lines = podium("check", tree.root, "--round", "5.1").stdout.splitlines()
    header, row = lines[0].split(), lines[1].split()
    assert dict(zip(header[-2:], row[-2:], strict=True)) == {"errors": "1", "warnings": "0"}
    assert sum(line.startswith("error ") for line in lines) == 1
    assert "1 error, 0 warnings" in " ".join(lines)


def test_a_truncated_compressed_log_is_one_error(tmp_path: Path) -> None:
    tree = usual(tmp_path)
    log = tree.root / tree.folder() / "result_1.txt"
    log.write_bytes(gzip.compress(log.read_bytes())[:12])
    assert [found.id for found in own(tree.check())] == ["log.broken-compression"]


def test_the_invalid_name_of_an_empty_log_is_a_separate_finding(tmp_path: Path) -> None:
    tree = usual(tmp_path)
    folder = tree.root / tree.folder()
    (folder / "result_1.txt").unlink()
    (folder / "result_last.txt").write_text("")
    assert {"log.no-records", "result.invalid-log-name"} <= {
        found.id for found in own(tree.check())
    }


# --- declarations ---

ROW_IDS = (
    "common.init_start",
    "common.init_stop",
    "common.run_start",
    "common.run_stop",
    "common.submission_division",
    "closed.bert.opt_name",
    "closed.submission_benchmark",
    "open.bert.opt_name",
    "open.submission_benchmark",
    "house.rule",
)
"""One rule of each kind that is neither a package rule nor a check."""

RULE_IDS = (*(rule.id for rule in FIXED_RULES), *(each.id for each in HPC), *ROW_IDS)


def test_every_declared_cause_is_a_rule() -> None:
    unknown = {
        f"{rule} follows from {each.cause}"
        for rule in RULE_IDS
        for each in follows_of(rule)
        if each.cause not in RULE_IDS
    }
    assert not unknown, f"no rule has the id of these causes: {sorted(unknown)}"


def test_every_declared_cause_is_found_for_its_rule() -> None:
    for rule in FIXED_RULES:
        assert {*rule.follows} <= {*follows_of(rule.id)}, (
            f"{rule.id} declares follows=, and is not among JUDGING_RULES"
        )
        assert rule.reads_content or rule in JUDGING_RULES, rule.id
    for check in HPC:
        assert {*check.follows} <= {*follows_of(check.id)}, check.id
    for table, follows in ROWS.items():
        assert {*follows} <= {*follows_of(f"{table}.bert.opt_name")}, table


def circles(rule: str, behind: tuple[str, ...] = ()) -> Iterator[str]:
    """Every cycle of declared causes that a rule leads into."""
    if rule in behind:
        yield " follows from ".join((*behind[behind.index(rule) :], rule))
        return
    for each in follows_of(rule):
        yield from circles(each.cause, (*behind, rule))


def test_no_rule_follows_from_itself() -> None:
    found = sorted({circle for rule in RULE_IDS for circle in circles(rule)})
    assert not found, "\n".join(found)


# --- random findings ---

RESULTS = {"results/a/bert": "systems/a.json", "results/b/bert": ""}
PATHS = (
    *("systems/a.json", "results/a/bert", "results/b/bert", "results/b/bert/scaling.json"),
    *(f"results/{system}/bert/result_{number}.txt" for system in "ab" for number in range(2)),
)


@st.composite
def any_finding(draw: st.DrawFn) -> Finding:
    return Finding(
        draw(st.sampled_from(RULE_IDS)),
        draw(st.sampled_from(Severity)),
        draw(st.sampled_from(PATHS)),
        draw(st.sampled_from((None, 1, 2))),
        draw(st.sampled_from((None, "seed"))),
        "line 1: x",
        expected=draw(st.sampled_from(("", "seed", "Acme"))),
        actual=draw(st.sampled_from((None, "train.py", "Acme"))),
        waived=draw(st.booleans()),
    )


@given(st.lists(any_finding(), max_size=30))
def test_every_chain_of_consequences_ends_at_a_reported_cause(
    findings: list[Finding],
) -> None:
    after = mark_consequences(findings, RESULTS)
    counting = [each for each in after if not each.waived]
    by_rule: dict[str, list[Finding]] = {}
    for each in counting:
        by_rule.setdefault(each.id, []).append(each)
    for each in counting:
        cause, steps = each, 0
        while cause.caused_by:
            # Among findings of one rule, those without a cause end the chain
            cause = min(by_rule[cause.caused_by], key=lambda found: found.caused_by)
            steps += 1
            assert steps <= len(counting)
    assert mark_consequences(after, RESULTS) == after
    rejecting = [each for each in counting if each.severity is Severity.ERROR]
    assert bool(rejecting) == any(not each.caused_by for each in rejecting)
