"""No plug-in changes podium's own verdict, and a failing plug-in is reported once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.builders import LogBuilder
from tests.compliance.command_line import podium
from tests.compliance.judging.plugins.plugged import RULE, plug_in, with_body

LIMIT_S = 30
SECONDS = "PODIUM_PLUGIN_SECONDS"
SOON = "1"
"""The time limit for plug-ins that would run forever; half of it applies to their start."""

pytestmark = pytest.mark.usefixtures("never_hangs")

IMPORTS = {
    "raises": ("raise ValueError('broken')", "fails: ValueError: broken"),
    "has a slip": ("def", "SyntaxError"),
    "needs what is not there": ("import not_there_at_all", "ModuleNotFoundError"),
    "ends the process": ("import sys; sys.exit(0)", "SystemExit"),
    "ends it at once": ("import os; os._exit(0)", "its process ended with status 0"),
    "kills itself": ("import os; os.kill(os.getpid(), 9)", "killed by SIGKILL"),
    "prints": (f"{RULE}\nprint('hello')", "prints to standard output: 'hello'"),
    "prints past Python": (f"{RULE}\nimport os; os.write(1, b'raw')", "prints to standard output"),
    "counts for ever": ("while True: pass", "takes more than 1 seconds during its import"),
    "raises an exception without a text": (
        "class E(Exception):\n def __str__(self): raise RuntimeError\nraise E",
        "fails: E: an exception without a text",
    ),
    "raises beyond exceptions": ("raise BaseException('x')", "its process ended with status 1"),
    "has no rules": ("x = 1", "AttributeError"),
    "has a number": ("RULES = 7", "has int at acme_rules; expected checks"),
    "has texts": ("RULES = ('a', 'b')", "has str at acme_rules; expected checks"),
    "has rules without end": (
        f"{RULE}\nfrom itertools import repeat\nRULES = repeat(odd_seed)",
        "more than 1000 rules",
    ),
    "has a rule twice": (
        f"{RULE}\nRULES = (odd_seed, odd_seed)",
        "two rules with the id acme.seed.odd",
    ),
    "has a strange id": (RULE.replace("seed.odd", "seed odd\\n"), "expected letters"),
    "has an id that is none": (RULE.replace('"seed.odd"', "7"), "expected letters"),
    "has no meaning": (RULE.replace("a seed is even", ""), "without text"),
    "has a severity of its own": (RULE.replace("Severity.ERROR", "'fatal'"), "severity"),
    "has a long text": (RULE.replace('"a seed is even"', "'x' * 9999"), "longer than 4000"),
}

BODIES = {
    "raises": ("1 / 0; yield", "fails in acme.seed.odd on result_0.txt: ZeroDivisionError"),
    "raises late": (
        'yield Violation(0, "a; must b", hint="c")\nraise KeyError("late")',
        "KeyError: 'late'",
    ),
    "returns nothing": ("return None", "TypeError"),
    "recurses": ("def f(): return f()\nyield f()", "RecursionError"),
    "ends the process": ("import sys; sys.exit(3); yield", "SystemExit: 3"),
    "ends it at once": ("import os; os._exit(3); yield", "ended with status 3 for result_0.txt"),
    "kills itself": ("import os; os.kill(os.getpid(), 9); yield", "killed by SIGKILL"),
    "prints": ("print('x' * 99); yield from ()", "prints to standard output: 'xxx"),
    "sleeps": ("import time; time.sleep(60); yield", "seconds for result_0.txt"),
    "finds without end": (
        'while True: yield Violation(0, "a; must b", hint="c")',
        "finds more than 1000 violations of acme.seed.odd in result_0.txt",
    ),
    "finds without end or memory": (
        'import itertools\nfor n in itertools.count(): yield Violation(0, "x" * n, hint="c")',
        "finds",
    ),
    "finds a long text": ('yield Violation(0, "x" * 10**7)', "longer than 4000 characters"),
    "finds a long value": ('yield Violation(0, "a", actual=["x"] * 9999)', "longer than 4000"),
    "finds an endless value": (
        'x = []; x.append(x); yield Violation(0, "a", actual=x)',
        "Error",
    ),
    "finds texts": ('yield "wrong"', "an object that is not a violation (str)"),
    "finds nothing at all": ("yield None", "an object that is not a violation (NoneType)"),
    "finds no text": ("yield Violation(0, 7)", "whose texts are not strings"),
    "finds an empty text": ('yield Violation(0, "")', "whose texts are not strings"),
    "finds no record": ('yield Violation(10**9, "a")', "is not a record of the log"),
    "finds half a record": ('yield Violation(0.5, "a")', "is not a record of the log"),
    "finds half a letter": ('yield Violation(0, "\\ud800")', "Unicode"),
    "closes its files": (
        "import os; os.closerange(3, 1 << 20); yield from ()",
        "its process ended with status 1 for result_0.txt",
    ),
    "changes a record": ("run.records[0].value = 42; yield from ()", "immutable type: 'Record'"),
    "changes a value": (
        'run.records[0].metadata["file"] = "other.py"; yield from ()',
        "changes the records of the checked log (result_0.txt)",
    ),
    "changes the records": ("run.records.clear(); yield from ()", "changes the records"),
    "changes the places": ('run.where["seed"] = []; yield from ()', "changes the records"),
    "changes the context": ('_.division = "open"; yield', "immutable"),
}

QUIET = {
    "changes podium": """
        import podium.logging_spec.reader.read as read
        import podium.rules.finding as finding
        read.read_log = read.parse_log = None
        finding.Finding.__init__ = None
        yield from ()
    """,
    "writes to standard error": "import sys; print('noise', file=sys.stderr); yield from ()",
    "closes the streams": "import os, sys; os.close(0); sys.stdout.close(); yield from ()",
    "leaves a thread behind": """
        import threading, time
        threading.Thread(target=time.sleep, args=(60,)).start()
        yield from ()
    """,
    "asks for something at the end": """
        import atexit, time
        atexit.register(time.sleep, 60)
        yield from ()
    """,
}
"""Actions that are not detected as errors: they stay in the plug-in's process."""


@pytest.fixture
def log(tmp_path: Path, good: LogBuilder) -> Path:
    """A log that podium's own rules accept; its seed is odd."""
    return good.set("seed", 41).write(tmp_path / "logs" / "result_0.txt")


@pytest.fixture
def bad_log(tmp_path: Path, good: LogBuilder) -> Path:
    """A log that podium's own rules reject."""
    made = good.set("seed", 41).set("opt_adamw_beta_2", 0.5)
    return made.write(tmp_path / "logs" / "result_0.txt")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv(SECONDS, "20")
    return folder


def judged(log: Path, *options: str) -> tuple[int, dict[str, Any], str]:
    done = podium(*options, "check", log, "--round", "5.1", "--format", "json", "--strict")
    found = json.loads(done.stdout)
    # The base folder differs between tests
    del found["base"]
    return done.exit_code, found, done.stderr


OWN: dict[bytes, tuple[int, dict[str, Any], str]] = {}


def own_verdict(log: Path) -> tuple[int, dict[str, Any]]:
    """Exit status and report without plug-ins, computed once for each log."""
    data = log.read_bytes()
    if data not in OWN:
        OWN[data] = judged(log, "--no-plugins")
    status, found, _ = OWN[data]
    return status, dict(found)


def assert_named_and_harmless(log: Path, why: str) -> None:
    own_status, own = own_verdict(log)
    if "seconds" in why:
        os.environ[SECONDS] = SOON
    status, found, said = judged(log)
    (entry,) = found.pop("plugins")
    assert own.pop("plugins") == []
    assert (status, found) == (own_status, own)
    assert (entry["name"], entry["state"], entry["findings"]) == ("acme", "failed", 0)
    assert why in entry["why"]
    (line,) = said.splitlines()
    assert line.startswith("podium: plug-in acme 1.2 of podium-acme is skipped: ")
    assert why in line


@pytest.mark.parametrize("what", IMPORTS)
def test_a_plugin_that_fails_on_import_is_reported_and_skipped(
    what: str, log: Path, site: Path
) -> None:
    code, why = IMPORTS[what]
    plug_in(site, code)
    assert_named_and_harmless(log, why)


@pytest.mark.parametrize("what", BODIES)
def test_a_plugin_that_fails_on_a_log_is_reported_and_skipped(
    what: str, bad_log: Path, site: Path
) -> None:
    body, why = BODIES[what]
    plug_in(site, with_body(body))
    assert_named_and_harmless(bad_log, why)


@pytest.mark.parametrize("what", QUIET)
def test_side_effects_of_a_plugin_stay_in_its_process(what: str, log: Path, site: Path) -> None:
    own_status, own = own_verdict(log)
    plug_in(site, with_body(QUIET[what]))
    status, found, said = judged(log)
    assert found.pop("plugins")[0]["state"] == "loaded"
    del own["plugins"]
    assert (status, found, said) == (own_status, own, "")


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"name": "closed"}, "its name is reserved for built-in rules"),
        ({"name": "Acme"}, "lower-case"),
        ({"group": "podium.rule"}, "unknown group podium.rule; expected one of"),
        ({"entry": "acme_rules:NOT_THERE"}, "AttributeError"),
        ({"entry": "not.there:RULES"}, "ModuleNotFoundError"),
        ({"entry": "acme_rules:odd_seed.find"}, "has function"),
    ],
)
def test_an_invalid_entry_point_is_reported(given: dict[str, str], why: str, site: Path) -> None:
    plug_in(site, **given)  # type: ignore[arg-type]
    done = podium("plugins")
    assert done.exit_code == 1
    assert why in " ".join(done.stdout.split())


def test_two_plugins_with_the_same_name_are_reported(site: Path) -> None:
    plug_in(site)
    plug_in(site, distribution="podium-zebra")
    done = podium("plugins")
    assert "podium-zebra has a plug-in with the same name" in " ".join(done.stdout.split())


def test_a_failing_plugin_does_not_affect_another_plugin(
    site: Path, tmp_path: Path, good: LogBuilder
) -> None:
    log = good.set("seed", 41).write(tmp_path / "logs" / "result_0.txt")
    plug_in(site, name="zebra")
    plug_in(site, with_body("1 / 0; yield"))
    _, found, said = judged(log)
    assert [(each["name"], each["state"]) for each in found["plugins"]] == [
        ("acme", "failed"),
        ("zebra", "loaded"),
    ]
    assert [each["id"] for each in found["findings"]] == ["zebra.seed.odd"]
    assert len(said.splitlines()) == 1


def test_a_plugin_that_fails_on_one_log_has_no_findings_in_any_log(
    site: Path, tmp_path: Path, good: LogBuilder
) -> None:
    """A report must not depend on the logs that a plug-in processed before it failed."""
    plug_in(
        site, RULE.replace("    for index", '    assert run.value("seed") != 43\n    for index')
    )
    for seed in (41, 42, 43):
        good.set("seed", seed).write(tmp_path / "logs" / f"result_{seed}.txt")
    _, found, said = judged(tmp_path / "logs")
    assert (found["findings"], found["plugins"][0]["state"]) == ([], "failed")
    assert "on result_43.txt: AssertionError" in said


def test_a_process_started_by_a_plugin_ends_with_the_plugin(
    site: Path, log: Path, tmp_path: Path
) -> None:
    note = tmp_path / "pid"
    body = f"""
        import subprocess
        started = subprocess.Popen(["sleep", "300"])
        open({str(note)!r}, "w").write(str(started.pid))
        started.wait()
        yield from ()
    """
    plug_in(site, with_body(body))
    assert_named_and_harmless(log, "seconds")
    started = int(note.read_text())
    # The process may still be a zombie
    stat = Path(f"/proc/{started}/stat")
    assert not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] in "ZX"


def test_a_process_started_by_a_plugin_ends_when_podium_is_killed(
    site: Path, log: Path, tmp_path: Path
) -> None:
    note = tmp_path / "pid"
    body = f"""
        import os, signal, subprocess, time
        started = subprocess.Popen(["sleep", "300"])
        open({str(note)!r}, "w").write(str(started.pid))
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(60)
        yield from ()
    """
    plug_in(site, with_body(body))
    ended = run_apart(log)
    assert ended.returncode == -signal.SIGKILL
    stat = Path(f"/proc/{note.read_text()}/stat")
    # The time limit of the test ends this loop
    while stat.exists() and stat.read_text().rpartition(")")[2].split()[0] not in "ZX":
        time.sleep(0.05)


def run_apart(log: Path) -> subprocess.CompletedProcess[bytes]:
    """Check a log in a separate process that a plug-in can kill."""
    return subprocess.run(
        [sys.executable, "-m", "podium", "check", str(log), "--round", "5.1"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        check=False,
    )


@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL"])
def test_a_plugin_that_kills_podium_leaves_no_verdict(name: str, site: Path, log: Path) -> None:
    """The exit status must differ from that of a log that passes."""
    body = f"import os, signal, time\nos.kill(os.getppid(), signal.{name})\ntime.sleep(60)\nyield"
    plug_in(site, with_body(body))
    done = run_apart(log)
    assert done.returncode == -signal.Signals[name]
    assert done.stdout == b""


@pytest.mark.long
def test_a_plugin_that_exceeds_the_total_time_limit_is_ended(
    site: Path, tmp_path: Path, good: LogBuilder
) -> None:
    """Each log is within the limit, but all logs together far exceed it."""
    os.environ[SECONDS] = SOON
    plug_in(site, with_body("import time; time.sleep(0.8); yield from ()"))
    for number in range(9):
        good.write(tmp_path / "logs" / f"result_{number}.txt")
    _, found, _ = judged(tmp_path / "logs")
    assert "seconds for result_" in found["plugins"][0]["why"]


@pytest.mark.parametrize("given", ["0", "-1", "soon", "nan"])
def test_an_invalid_plugin_time_limit_is_a_usage_error(
    given: str, site: Path, tmp_path: Path, good: LogBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SECONDS, given)
    plug_in(site)
    done = podium("check", good.write(tmp_path / "result_0.txt"), "--round", "5.1")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "expected a number of seconds above 0" in done.stderr
