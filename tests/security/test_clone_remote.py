"""The remote of a hostile clone cannot redirect a push or start a program."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from podium.compliance.errors import UsageFault
from podium.compliance.exit_codes import Exit
from podium.compliance.tools.packing.git.remote import plain_address
from tests.compliance.clones import BRANCH, Review, git
from tests.security.traps import Trap

LIMIT_S = 300
pytestmark = pytest.mark.usefixtures("never_hangs")


@pytest.fixture
def proxy() -> Iterator[tuple[int, list[bytes]]]:
    """The port of a proxy that refuses all requests, and the requests that it received."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    caller, _ = server.accept()
                except OSError:
                    return
                with caller:
                    heard.append(caller.recv(4096))
                    caller.sendall(b"HTTP/1.1 403 no\r\ncontent-length: 0\r\n\r\n")

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1], heard
        server.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize(
    "key", ["http.proxy", "http.https://127.0.0.1:1/.proxy", "remote.odd.proxy"]
)
def test_a_proxy_in_the_clones_configuration_receives_nothing(
    key: str, review: Review, proxy: tuple[int, list[bytes]]
) -> None:
    """Such a proxy could receive the credentials of the user."""
    port, heard = proxy
    clone = review.clone()
    git(clone, "config", "remote.origin.url", "https://127.0.0.1:1/review.git")
    git(clone, "config", key, f"http://127.0.0.1:{port}")
    git(clone, "config", "http.sslVerify", "false")
    git(clone, "config", "http.extraHeader", "Proxy-Authorization: secret")
    git(clone, "config", "--global", "credential.helper", "!echo username=me; echo password=secret")
    assert review.pack(clone, "--push") == Exit.USAGE
    assert heard == []


def test_a_proxy_in_the_users_configuration_is_used(
    review: Review, proxy: tuple[int, list[bytes]]
) -> None:
    port, heard = proxy
    clone = review.clone()
    git(clone, "config", "remote.origin.url", "https://127.0.0.1:1/review.git")
    git(clone, "config", "--global", "http.proxy", f"http://127.0.0.1:{port}")
    assert review.pack(clone, "--push") == Exit.USAGE
    assert [each.split(b"\r\n")[0] for each in heard] == [b"CONNECT 127.0.0.1:1 HTTP/1.1"]


@pytest.mark.parametrize("key", ["insteadOf", "pushInsteadOf"])
def test_an_address_rewrite_in_the_clones_configuration_is_ignored(
    key: str, review: Review
) -> None:
    git(review.place, "init", "-q", "--bare", "evil.git")
    clone = review.clone()
    git(clone, "config", f"url.{review.place / 'evil.git'}.{key}", str(review.bare))
    assert review.pack(clone, "--push") == Exit.CLEAN
    assert git(review.bare, "branch", "--list", BRANCH) != ""
    assert git(review.place / "evil.git", "branch", "--list") == ""


@pytest.mark.parametrize("key", ["pushurl", "proxy"])
def test_a_remote_with_a_push_url_or_proxy_is_refused(
    key: str, review: Review, capsys: pytest.CaptureFixture[str]
) -> None:
    git(review.place, "init", "-q", "--bare", "evil.git")
    clone = review.clone()
    git(clone, "config", f"remote.origin.{key}", str(review.place / "evil.git"))
    assert review.pack(clone, "--push") == Exit.USAGE
    assert f"remote.origin.{key}" in capsys.readouterr().err
    assert git(review.place / "evil.git", "branch", "--list") == ""


@pytest.mark.parametrize(
    "address",
    [
        *("http://example.org/x.git", "git://example.org/x.git", "ftp://example.org/x"),
        *("ext::sh -c true", "EXT::sh", "fd::3", "::x", "file://host/x", "ssh://-oProxy/x"),
        *("-x", "", "-u:x", "https://a\nb", "git+ssh://example.org/x", "https:///x"),
    ],
)
def test_an_unsupported_remote_address_is_refused(address: str, tmp_path: Path) -> None:
    with pytest.raises(UsageFault, match="expected https, ssh, or a folder"):
        plain_address(address, tmp_path)


@pytest.mark.parametrize(
    ("address", "taken"),
    [
        ("https://example.org/x.git", "https://example.org/x.git"),
        ("ssh://git@example.org:22/x.git", "ssh://git@example.org:22/x.git"),
        ("git@example.org:x/y.git", "git@example.org:x/y.git"),
        ("[::1]:x.git", "[::1]:x.git"),
        ("file:///a%20b", "/a b"),
        ("/a/b", "/a/b"),
        ("./a:b", "/top/a:b"),
        ("../a", "/top/../a"),
    ],
)
def test_a_supported_remote_address_is_accepted(address: str, taken: str) -> None:
    assert plain_address(address, Path("/top")) == taken


def test_the_configuration_of_a_local_remote_starts_no_program(review: Review, trap: Trap) -> None:
    """A hostile clone may come with its remote."""
    clone = review.clone()
    for key in ("core.alternateRefsCommand", "core.fsmonitor", "core.sshCommand", "gpg.program"):
        git(review.bare, "config", key, trap.named(key))
    git(review.bare, "config", "uploadpack.packObjectsHook", trap.named("pack"))
    git(review.place, "init", "-q", "--bare", "other.git")
    alternates = review.bare / "objects/info/alternates"
    alternates.write_text(f"{review.place / 'other.git/objects'}\n")
    assert review.pack(clone, "--push") == Exit.CLEAN
    assert git(review.bare, "branch", "--list", BRANCH) != ""
    assert trap.sprung() == set()


def test_a_local_remote_with_a_hook_is_refused(
    review: Review, trap: Trap, capsys: pytest.CaptureFixture[str]
) -> None:
    """The hook does not run. It may exist to refuse a push, so podium does not push."""
    clone = review.clone()
    hook = review.bare / "hooks/pre-receive"
    hook.write_text(f"#!/bin/sh\n{trap.named('hook')}\n")
    hook.chmod(0o755)
    assert review.pack(clone, "--push") == Exit.USAGE
    assert "has a hook (pre-receive)" in capsys.readouterr().err
    hook.unlink()
    git(review.bare, "config", "core.hooksPath", str(trap.place))
    assert review.pack(clone, "--push") == Exit.USAGE
    assert "has a hook (core.hooksPath)" in capsys.readouterr().err
    assert trap.sprung() == set()
