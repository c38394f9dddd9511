"""PATHs that are URLs: they are fetched, judged like any other tree and shown as given."""

from __future__ import annotations

import json
import os
import re
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from podium.compliance.errors import UsageFault
from podium.compliance.files import optional_imports
from podium.compliance.files.staging import PREFIX
from podium.compliance.judging.inputs import given_paths
from podium.compliance.judging.inputs.given_paths import at_hand
from tests.builders import LogBuilder
from tests.compliance.command_line import podium
from tests.compliance.trees import usual

fsspec = pytest.importorskip("fsspec")


@pytest.fixture
def bucket() -> Iterator[Any]:
    """An empty in-memory file system."""
    system = fsspec.filesystem("memory")
    yield system
    system.store.clear()
    system.pseudo_dirs[:] = [""]


@pytest.fixture(autouse=True)
def staged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder into which trees are fetched; it must be empty after each test."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    yield place
    assert list(place.iterdir()) == []


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A submission with errors in its logs, its results and its tree."""
    tree = usual(tmp_path / "training_results_v5.1")
    tree.log(0, lambda log: log.drop("opt_name"))
    tree.log(1, lambda log: log.drop("seed"))
    (tree.root / "results/.DS_Store").touch()
    return tree.root


FORMS = ("json", "text", "sarif", "junit", "github", "markdown", "html")


@pytest.mark.parametrize("form", FORMS)
def test_the_report_of_a_url_equals_the_report_of_the_local_tree(
    form: str, package: Path, bucket: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket.put(str(package), "/training_results_v5.1/Acme", recursive=True)
    monkeypatch.chdir(package.parent.parent)
    here = f"{package.relative_to(package.parent.parent)}"
    there = f"memory://training_results_v5.1/{package.name}"
    words = ("--format", form, "--jobs", 1)
    one, two = (podium("check", path, *words, columns=400) for path in (here, there))
    assert one.exit_code == two.exit_code == 1
    assert "podium-stage" not in two.stdout
    # A workflow command escapes the colon
    text, scheme = re.subn("memory(:|%3A)//", "", two.stdout)
    assert scheme
    assert _plain(text, form) == _plain(one.stdout, form)


def _plain(text: str, form: str) -> Any:
    if form == "sarif":
        # SARIF gives a URL as is, and a path relative to a named base folder
        text = re.sub(r',\s*"uriBaseId": "%SRCROOT%"', "", text)
        return [*map(_without_fingerprint, json.loads(text)["runs"][0]["results"])]
    return " ".join(text.split()) if form == "text" else text


def _without_fingerprint(found: dict[str, Any]) -> dict[str, Any]:
    return {key: held for key, held in found.items() if key != "partialFingerprints"}


def test_the_report_shows_each_url_and_path_as_given(
    package: Path, good: LogBuilder, bucket: Any, tmp_path: Path
) -> None:
    bucket.put(str(package), "/round/Acme", recursive=True)
    bucket.pipe_file("/logs/result_0.txt", good.bytes())
    here = good.drop("seed").write(tmp_path / "result_0.txt")
    urls = ("memory://round/Acme", "memory:///logs/result_0.txt")
    done = podium("check", *urls, here, "--round", "5.1", "--format", "json")
    report = json.loads(done.stdout)
    places = {entry["path"] for entry in report["files"]}
    assert {"memory://logs/result_0.txt", str(here)} <= places
    assert all(
        place.startswith(("memory://round/Acme/", *urls[1:], str(here), "memory://logs"))
        for place in places
    )
    assert "podium-stage" not in done.stdout


def test_scores_of_a_url_do_not_show_the_staging_folder(package: Path, bucket: Any) -> None:
    bucket.put(str(package), "/round/Acme", recursive=True)
    done = podium("check", "memory://round/Acme", "--round", "5.1", "--score", "--format", "json")
    assert json.loads(done.stdout)["scores"]
    assert "podium-stage" not in done.stdout


def test_a_results_store_built_from_a_url_equals_the_local_one(
    package: Path, bucket: Any, tmp_path: Path
) -> None:
    bucket.put(str(package.parent), "/bucket/training_results_v5.1", recursive=True)
    there = "memory://bucket/training_results_v5.1"
    for name, path in {"one": package.parent, "two": there}.items():
        done = podium("results", "build", path, "--output", tmp_path / name)
        assert done.exit_code == 0, done.stderr
    tables = {name: _tables(tmp_path / name) for name in ("one", "two")}
    assert tables["one"] == tables["two"]
    done = podium("results", "build", there, "--output", tmp_path / "two")
    assert done.stderr == "podium: training_results_v5.1: unchanged\n"


def _tables(store: Path) -> dict[str, bytes]:
    return {
        path.relative_to(store).as_posix(): path.read_bytes() for path in store.rglob("*.parquet")
    }


def test_a_file_url_is_read_in_place(good: LogBuilder, tmp_path: Path) -> None:
    path = good.write(tmp_path / "result_0.txt")
    with at_hand([f"file://{path}", str(path)]) as given:
        assert given.paths == [path, path]
    done = podium("check", f"file://{path}", "--round", "5.1")
    assert done == podium("check", path, "--round", "5.1")


# --- URLs that cannot be fetched ---


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("memory://nowhere", "no such file or folder: memory://nowhere"),
        ("memory://nowhere/", "no such file or folder: memory://nowhere/"),
        ("memory://", "memory://: the URL has no path; expected a bucket, a folder or a file"),
        ("memory://a/../b", "'a/../b' is not a valid file name"),
        ("nosuch://bucket/x", "nosuch://bucket/x cannot be read: Protocol not known: nosuch"),
        ("dropbox://x/y", "dropbox://x/y cannot be read: "),
        ("simplecache::memory://x", "simplecache::memory://x"),
        ("http://me:secret@127.0.0.1:1/x", "http://127.0.0.1:1/x cannot be read: "),
        ("http://me:secret@word@127.0.0.1:1/x", "http://127.0.0.1:1/x cannot be read: "),
        ("https://127.0.0.1:1/x?key=secret", "https://127.0.0.1:1/x cannot be read: "),
    ],
)
def test_a_url_that_cannot_be_fetched_is_a_one_line_usage_error(url: str, words: str) -> None:
    done = podium("check", url)
    assert done.exit_code == 2
    assert words in done.stderr
    assert done.output.count("\n") == 1
    assert "secret" not in done.output


def test_a_missing_fsspec_is_reported_with_the_pip_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> ModuleType:
        raise ImportError(name)

    monkeypatch.setattr(optional_imports, "import_module", missing)
    done = podium("check", "s3://bucket/round")
    assert done.exit_code == 2
    assert done.stderr == "podium: a URL needs fsspec: pip install fsspec\n"


def test_a_network_error_is_reported_in_one_line(
    bucket: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket.pipe_file("/logs/result_0.txt", b"x")

    def fails(*_: object, **__: object) -> None:
        raise PermissionError("Forbidden")

    monkeypatch.setattr(type(bucket), "open", fails)
    done = podium("check", "memory://logs")
    assert done.exit_code == 2
    assert done.output == "podium: memory://logs cannot be read: permission denied\n"


# --- hostile stores ---


def listing(monkeypatch: pytest.MonkeyPatch, bucket: Any, **names: str) -> None:
    """Make a store list these names, each with its type."""
    bucket.pipe_file("/top/result_0.txt", b"x")
    found = {name: {"name": name, "type": kind, "size": 1} for name, kind in names.items()}
    monkeypatch.setattr(type(bucket), "find", lambda *_, **__: found)


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("/top/../../x", "file", "is not a valid file name"),
        ("/top//etc/x", "file", "is not a valid file name"),
        ("/top/./x", "file", "is not a valid file name"),
        ("/top/a\0b", "file", "is not a valid file name"),
        ("/other/x", "file", "/other/x is outside the tree; not fetched"),
        ("/top/x", "link", "x is a link or a special file; not fetched"),
    ],
)
def test_an_unsafe_name_in_a_listing_is_refused(
    name: str, kind: str, words: str, bucket: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    listing(monkeypatch, bucket, **{name: kind})
    with pytest.raises(UsageFault, match=re.escape(words)), at_hand(["memory://top"]):
        pass


def test_a_name_that_is_both_a_file_and_a_folder_is_refused(
    bucket: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    listing(monkeypatch, bucket, **{"/top/a": "file", "/top/a/b": "file"})
    bucket.pipe_file("/top/a", b"x")
    with pytest.raises(UsageFault, match="memory://top: "), at_hand(["memory://top"]):
        pass


def test_a_tree_over_the_fetch_limits_is_refused(
    bucket: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        bucket.pipe_file(f"/top/result_{number}.txt", b"x" * 100)
    monkeypatch.setattr(given_paths, "MOST_FILES", 2)
    with (
        pytest.raises(UsageFault, match="too many files to fetch: more than 2"),
        at_hand(["memory://top"]),
    ):
        pass
    monkeypatch.setattr(given_paths, "MOST_FILES", 3)
    monkeypatch.setattr(given_paths, "MOST_BYTES", 299)
    with pytest.raises(UsageFault, match="too large to fetch"), at_hand(["memory://top"]):
        pass
    monkeypatch.setattr(given_paths, "MOST_BYTES", 300)
    with at_hand(["memory://top"]) as given:
        assert len([*given.paths[0].iterdir()]) == 3


def test_a_fetched_tree_is_accessible_only_to_the_user(bucket: Any, staged: Path) -> None:
    bucket.pipe_file("/top/result_0.txt", b"x")
    with at_hand(["memory://top"]) as given:
        (folder,) = staged.iterdir()
        assert folder in given.paths[0].parents
        assert folder.stat().st_mode & 0o077 == 0


def test_a_fetched_tree_is_removed_after_an_interrupt(bucket: Any, staged: Path) -> None:
    bucket.pipe_file("/top/result_0.txt", b"x")
    for moment in ("fetching", "judging"):
        with pytest.raises(KeyboardInterrupt):
            _interrupted(moment)
        assert list(staged.iterdir()) == []


def _interrupted(moment: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if moment == "fetching":
            patch.setattr(given_paths, "_copy", _interrupt)
        with at_hand(["memory://top"]):
            assert moment == "judging"
            _interrupt()


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_config_above_the_fetched_tree_is_ignored(
    bucket: Any, staged: Path, good: LogBuilder
) -> None:
    bucket.pipe_file("/top/result_0.txt", good.bytes())
    config = staged / "podium.toml"
    config.write_text('round = "4.0"\n')
    done = podium("check", "memory://top", "--format", "json")
    assert json.loads(done.stdout)["rules"]["chosen_by"] == "default"
    config.unlink()


def test_files_left_by_a_killed_process_are_removed_by_the_next_call(
    bucket: Any, staged: Path
) -> None:
    bucket.pipe_file("/top/result_0.txt", b"x")
    child = os.fork()
    if not child:
        with at_hand(["memory://top"]):
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    (left,) = staged.glob(f"{PREFIX}*")
    assert [*left.rglob("result_0.txt")]
    with at_hand(["memory://top"]) as one, at_hand(["memory://top"]) as other:
        assert not left.exists()
        assert all(path.exists() for path in (*one.paths, *other.paths))


def test_a_fetched_folder_without_logs_is_reported_with_its_url(bucket: Any) -> None:
    bucket.pipe_file("/top/readme", b"x")
    done = podium("check", "memory://top")
    assert done.exit_code == 2
    assert done.stderr == "podium: nothing to check in memory://top: no result_*.txt below it\n"


@pytest.mark.parametrize("option", [["--cache"], ["--since", "HEAD"]])
def test_cache_and_since_are_refused_for_a_url(
    option: list[str], package: Path, bucket: Any, tmp_path: Path
) -> None:
    bucket.put(str(package), "/round/Acme", recursive=True)
    done = podium("check", "memory://round/Acme", *option, "--cache-dir", tmp_path / "kept")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "need files on this disk" in done.stderr
    assert not (tmp_path / "kept").exists()
