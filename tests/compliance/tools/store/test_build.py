"""Store builds are complete, ordered and incremental; a failed build keeps the old store."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from podium.compliance import score
from podium.compliance.errors import UsageFault
from podium.compliance.judging.options import Options
from podium.compliance.judging.pipeline import check_paths
from podium.compliance.tools.store.building import contents, session
from podium.compliance.tools.store.building.session import build
from podium.compliance.tools.store.index import NAME as INDEX
from podium.compliance.tools.store.index import write_index
from podium.compliance.tools.store.schema import TABLES
from podium.rules.convergence.data import points_of
from tests.compliance.command_line import podium
from tests.compliance.tools.review.rounds import NAME, submission
from tests.compliance.tools.store.seen import seen
from tests.compliance.tools.store.stores import built, content, lines_of, schema, table
from tests.locations import ROOT


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A round of one submission with one result of three runs."""
    submission(tmp_path)
    return tmp_path / NAME


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Path:
    built(tmp_path / "store", made)
    return tmp_path / "store"


# --- content ---


@pytest.mark.corpus
@pytest.mark.parametrize("table_", TABLES, ids=lambda each: each.name)
def test_a_table_has_the_columns_of_its_schema(table_: Any, published: Path) -> None:
    assert schema(published, table_.name).names == [*table_.names]


@pytest.mark.corpus
def test_every_record_is_on_its_line_in_every_dialect(published: Path, few: Path) -> None:
    records = table(published, "records")
    texts: dict[str, list[str]] = {}
    wrong = []
    for row in records:
        if row["file"] not in texts:
            data = (few / row["file"]).read_bytes().replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            texts[row["file"]] = data.decode("utf-8", "replace").split("\n")
        line = texts[row["file"]][row["line"] - 1]
        if row["key"] not in line or (row["type"] == "number" and row["number"] is None):
            wrong.append((row["file"], row["line"], row["key"]))
    assert wrong == []
    assert {row["round"] for row in records} == {"0.5", "0.6", "2.0", "5.0"}


@pytest.mark.corpus
def test_results_and_runs_agree_with_the_score(published: Path, few: Path) -> None:
    for name in ("training_results_v0.6", "hpc_results_v2.0"):
        results = score(few / name).results
        rows = [row for row in table(published, "results") if row["result"].startswith(name)]
        fields = ("submitter", "system", "benchmark", "division", "scaling", "minutes", "factor")
        fields += ("score", "runs", "converged", "batch_size", "to_converge", "models_per_minute")
        ours = {tuple(row[field] for field in ("result", *fields)) for row in rows}
        assert ours == {
            (f"{name}/{one.path}", *(getattr(one, field) for field in fields)) for one in results
        }
        runs = [row for row in table(published, "runs") if row["result"].startswith(name)]
        minutes = {(row["file"], row["minutes"], row["role"]) for row in runs}
        assert minutes == {
            (f"{name}/{run.path}", run.minutes, run.role) for one in results for run in one.run_list
        }


@pytest.mark.corpus
def test_findings_and_systems_agree_with_the_check(published: Path, few: Path) -> None:
    name = "hpc_results_v2.0"
    outcome = check_paths([few / name], Options())
    rows = [row for row in table(published, "findings") if row["file"].startswith(f"{name}/")]
    assert [(row["file"], row["line"], row["rule"], row["message"]) for row in rows] == [
        (f"{name}/{each.path}", each.line, each.id, each.message) for each in outcome.findings
    ]
    systems = {row["file"] for row in table(published, "systems") if row["file"].startswith(name)}
    assert systems == {f"{name}/{one.path}" for one in outcome.files if one.kind == "system"}
    row = next(row for row in table(published, "systems") if row["file"].startswith(name))
    assert json.loads(row["fields"])["system_name"] == row["name"]
    assert row["name"] in lines_of(few, row)


@pytest.mark.corpus
def test_evaluations_are_numbered_and_have_the_result_of_their_run(published: Path) -> None:
    runs = {row["file"]: row for row in table(published, "runs")}
    counts: dict[str, int] = {}
    for row in table(published, "evaluations"):
        counts[row["file"]] = counts.get(row["file"], 0) + 1
        assert row["number"] == counts[row["file"]]
        if row["file"] in runs:
            assert row["result"] == runs[row["file"]]["result"]
    assert counts == {file: row["evaluations"] for file, row in runs.items() if row["evaluations"]}


@pytest.mark.corpus
def test_reference_points_are_on_their_lines(published: Path) -> None:
    root = ROOT
    rows = table(published, "rcps")
    for row in rows:
        path = root / row["file"].removeprefix("podium/")
        assert f'"{row["point"]}"' in path.read_text().splitlines()[row["line"] - 1]
    names = {row["point"] for row in rows if row["benchmark"] == "bert"}
    assert names == {point.id for point in points_of("training", "5.0", "bert")}


def test_unusual_values_are_kept(made: Path, tmp_path: Path) -> None:
    path = made / "Acme/results/ex_n8/llama31_405b/result_0.txt"
    odd = [("[1,null,NaN]", "list"), ('"\\ud800"', "text"), ("1" + "0" * 400, "number")]
    odd += [("NaN", "number"), ("null", "null"), ("true", "truth"), ('"8"', "text")]
    odd += [("{}", "object")]
    line = ':::MLLOG {"namespace": "", "time_ms": 1, "event_type": [1], "key": "odd", "value": %s'
    line += ', "metadata": {"a": NaN}}\n'
    path.write_text(path.read_text() + "".join(line % value for value, _ in odd))
    built(tmp_path / "store", made)
    rows = [row for row in table(tmp_path / "store", "records") if row["key"] == "odd"]
    assert [row["type"] for row in rows] == [kind for _, kind in odd]
    assert [row["value"] for row in rows] == [
        *("[1,null,NaN]", "?", "1" + "0" * 400, "NaN", None, "true", "8", "{}")
    ]
    assert [row["number"] for row in rows] == [*[None] * 6, 8.0, None]
    assert {row["metadata"] for row in rows} == {'{"a":NaN}'}
    assert {row["event"] for row in rows} == {None}


# --- updates ---


def test_one_process_and_several_processes_give_the_same_bytes(made: Path, tmp_path: Path) -> None:
    submission(tmp_path, "Bcme", 40)
    pad = ("x" * 1000 + "\n") * 2000
    for path in made.rglob("result_*.txt"):
        path.write_text(path.read_text() + pad)
    for jobs in (1, 2):
        built(tmp_path / f"store{jobs}", made, jobs=jobs)
    assert content(tmp_path / "store1") == content(tmp_path / "store2")


def test_an_unchanged_round_is_not_read_again(store: Path, made: Path) -> None:
    before = content(store)
    assert built(store, made).read == []
    assert content(store) == before
    assert built(store, made, force=True).read == [NAME]


def test_the_content_decides_and_not_the_modification_time(
    store: Path, made: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "elsewhere" / NAME
    shutil.copytree(made, copy)
    assert built(store, copy).read == []
    log = next(copy.rglob("result_0.txt"))
    log.write_text(log.read_text().replace("405b", "405B"))
    assert built(store, copy).read == [NAME]


def test_a_requested_round_is_read_by_its_rules(store: Path, made: Path) -> None:
    assert build([made], store, Options(round="6.0")).read == [NAME]
    assert {row["round"] for row in table(store, "runs")} == {"6.0"}
    assert build([made], store, Options(round="6.0")).read == []
    (made / "podium.toml").write_text('round = "6.1"\n')
    assert build([made], store, Options(round="6.0")).read == [NAME]
    assert build([made], store, Options()).read == [NAME]
    assert {row["round"] for row in table(store, "findings")} == {"6.1"}


def test_a_changed_file_of_equal_size_and_time_is_detected(store: Path, made: Path) -> None:
    path = made / "Acme/results/ex_n8/llama31_405b/result_0.txt"
    status = path.stat()
    path.write_text(path.read_text().replace("405b", "405c"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert built(store, made).read == [NAME]


def test_a_changed_file_of_equal_size_times_and_inode_is_detected(
    store: Path, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two images may be mounted at one path, so only the content is reliable."""
    monkeypatch.setattr(contents, "state_of", lambda status: (status.st_size, 1, 1, 1))
    assert built(store, made, force=True).read == [NAME]
    path = made / "Acme/results/ex_n8/llama31_405b/result_0.txt"
    path.write_text(path.read_text().replace("405b", "405c"))
    assert built(store, made).read == [NAME]


def _add_folder(made: Path) -> None:
    (made / "Acme/results/ex_n8/retinanet").mkdir()


def _turn_link(made: Path) -> None:
    link = made / "Acme/benchmarks/link"
    link.unlink()
    link.symlink_to("there2")


def _ask_more_above(made: Path) -> None:
    config = (
        'round = "5.1"\n[[rules]]\nname = "a"\nkey = "seed"\nbound = { above = 0 }\ntext = "x"\n'
    )
    (made.parent / "podium.toml").write_text(config)


@pytest.mark.parametrize("change", [_add_folder, _turn_link, _ask_more_above])
def test_a_change_of_any_input_of_a_verdict_is_detected(
    change: Callable[[Path], None], made: Path, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    (made / "Acme/benchmarks/link").symlink_to("there1")
    (made.parent / "podium.toml").write_text('round = "5.1"\n')
    assert built(store, made).read == [NAME]
    assert built(store, made).read == []
    change(made)
    assert built(store, made).read == [NAME]


def test_a_round_replaces_only_the_round_of_its_name(store: Path, made: Path) -> None:
    other = made.with_name("training_results_v5.0")
    shutil.copytree(made, other)
    built(store, other)
    shutil.rmtree(made / "Acme/results/ex_n8")
    built(store, made)
    assert {row["round"] for row in table(store, "results")} == {"5.0"}
    assert len([path for path in store.iterdir() if path.is_dir()]) == 2


# --- errors ---


class _Power(Exception):
    pass


def test_an_interrupted_build_keeps_the_old_store(store: Path, made: Path) -> None:
    before = content(store)
    (made / "Acme/results/ex_n8/llama31_405b/result_0.txt").write_text("")

    def ends(done: int, total: int) -> None:
        if done == total:
            raise _Power

    with pytest.raises(_Power):
        built(store, made, progress=ends)
    assert content(store) == before


def test_a_log_that_changes_while_it_is_read_is_reported(store: Path, made: Path) -> None:
    before = content(store)
    path = made / "Acme/results/ex_n8/llama31_405b/result_0.txt"

    def grows(done: int, total: int) -> None:
        path.write_text(path.read_text() + "more\n")

    with pytest.raises(UsageFault, match=r"result_0\.txt changed while it was read"):
        built(store, made, force=True, progress=grows)
    assert content(store) == before


def test_leftovers_of_a_killed_build_are_removed(store: Path, made: Path) -> None:
    """A killed build leaves a partial folder, or a complete folder that the index does not name."""
    before = content(store)
    write_index(store, [])
    (folder,) = (path for path in store.iterdir() if path.is_dir())
    stage = store / f".podium-stage.{folder.name}.abcdefgh"
    stage.mkdir()
    (stage / ".podium-stage").write_text(f"{folder.resolve()}\0{os.uname().nodename}\0draft")
    built(store, made)
    assert content(store) == before


@pytest.mark.parametrize("name", ["store.json", "the round"])
def test_a_full_disk_leaves_no_new_store(
    name: str, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace, place = os.replace, tmp_path / "above" / "new"

    def full(source: Path, target: Path) -> None:
        if name == "store.json" or Path(target).name != "store.json":
            raise OSError(errno.ENOSPC, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(UsageFault, match="No space left on device"):
        built(place, made)
    assert not (tmp_path / "above").exists()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"schema": "podium.results/999", "rounds": []}', "is a store of 'podium.results/999'"),
        ('{"schema": "podium.review/1"}', "is a store of 'podium.review/1'"),
        ('{"rounds": []}', "cannot be read: it is not an index"),
        ("{", "cannot be read"),
        ('{"schema": "podium.results/2", "rounds": [{"name": 1}]}', "cannot be read"),
    ],
)
def test_a_store_with_an_unsupported_index_is_not_changed(
    text: str, says: str, store: Path, made: Path
) -> None:
    (store / "store.json").write_text(text)
    before = content(store)
    done = podium("results", "build", made, "--output", store)
    assert done.exit_code == 2
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
    assert content(store) == before


def test_an_index_cannot_name_a_folder_outside_its_store(store: Path, made: Path) -> None:
    index = json.loads((store / "store.json").read_text())
    index["rounds"][0]["folder"] = "../made"
    (store / "store.json").write_text(json.dumps(index))
    with pytest.raises(UsageFault, match="is not a folder of the store"):
        built(store, made, force=True)


@pytest.mark.parametrize("folder", ["\0", "\ud800", "a/b", "..", "", "\x1b[31m"])
def test_an_invalid_folder_in_an_index_is_reported_in_one_line(folder: str, store: Path) -> None:
    index = json.loads((store / "store.json").read_text())
    index["rounds"][0]["folder"] = folder
    (store / "store.json").write_text(json.dumps(index))
    done = podium("results", "query", "SELECT 1", "--store", store)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "is not a folder of the store" in done.stderr
    assert done.stderr.count("\n") == 1
    assert "\x1b" not in done.stderr


@pytest.mark.parametrize("there", [True, False])
def test_a_build_that_cannot_write_a_byte_leaves_no_store(
    there: bool, made: Path, tmp_path: Path
) -> None:
    """A file size limit of 0 simulates a full disk."""
    store = tmp_path / "new/store"
    if there:
        store.mkdir(parents=True)
    words = ["-m", "podium", "results", "build", str(made), "--output", str(store), "--jobs", "1"]
    done = subprocess.run(
        ["bash", "-c", 'ulimit -f 0; exec "$@"', "bash", sys.executable, *words],
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "File too large" in done.stderr
    assert done.stderr.count("\n") == 1
    assert store.parent.exists() == there
    assert [*tmp_path.glob("new/store/*")] == []


def test_a_failed_first_build_leaves_no_store(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(session, "write_rows", fail)
    with pytest.raises(UsageFault, match="No space left"):
        built(tmp_path / "new/store", made)
    assert not (tmp_path / "new").exists()


def test_a_failed_build_keeps_the_old_store(
    store: Path, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    before = content(store)
    monkeypatch.setattr(session, "write_rows", fail)
    with pytest.raises(UsageFault, match="No space left"):
        built(store, made, force=True)
    assert content(store) == before


def test_a_pipe_in_a_store_is_replaced_without_waiting(store: Path, made: Path) -> None:
    (runs,) = store.glob("*/runs.parquet")
    runs.unlink()
    os.mkfifo(runs)
    assert built(store, made).read == [NAME]


def test_a_store_has_no_local_paths(store: Path, tmp_path: Path) -> None:
    here = str(tmp_path).encode()
    assert [name for name, data in content(store).items() if here in data] == []


def test_rounds_with_the_same_name_are_refused(made: Path, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere" / NAME
    shutil.copytree(made, other)
    with pytest.raises(UsageFault, match="have the same name"):
        build([made, other], tmp_path / "store", Options())


@pytest.mark.parametrize("place", ["store", "."])
def test_a_store_in_a_round_or_in_a_folder_with_files_is_refused(place: str, made: Path) -> None:
    done = podium("results", "build", made, "--output", (made / place).resolve().parent)
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1


def test_the_command_reports_new_and_unchanged_rounds(made: Path, tmp_path: Path) -> None:
    first = podium("results", "build", made, "--output", tmp_path / "store")
    assert first.exit_code == 0
    assert "records, 1 results" in first.stderr
    again = podium("results", "build", made, "--output", tmp_path / "store")
    assert again.stderr == f"podium: {NAME}: unchanged\n"


def tables(store: Path) -> dict[str, bytes]:
    """Return the tables that readers see, by name without the folder."""
    return {Path(path).name: data for path, data in seen(content(store)).items() if path != INDEX}


@pytest.mark.long
@pytest.mark.corpus
def test_a_killed_build_keeps_the_old_store(corpus: Path, tmp_path: Path) -> None:
    """Builds are killed at several moments; the next build removes their leftovers."""
    store, source = tmp_path / "store", corpus / "hpc_results_v2.0"
    built(store, source)
    before = tables(store)
    words = ["results", "build", str(source), "--output", str(store), "--force", "--jobs", "2"]
    for number in range(6):
        command = [sys.executable, "-m", "podium", *words]
        with subprocess.Popen(
            command, stderr=subprocess.DEVNULL, env=os.environ | {"PYTHONPATH": str(ROOT / "src")}
        ) as process:
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.4 + 0.35 * number)
            process.kill()
        # A build killed at its end has written the same tables into another folder
        assert tables(store) == before
    built(store, source, force=True)
    (folder,) = (path for path in store.iterdir() if path.is_dir())
    assert sorted(path.name for path in store.iterdir()) == [folder.name, "store.json"]
