"""Run git in a clone with podium's settings instead of those of the clone."""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from podium.compliance.errors import UsageFault
from podium.compliance.files.git_process import (
    READING_SECONDS,
    WORKING_SECONDS,
    Finished,
    reason,
    run_git,
)
from podium.compliance.files.staging import remove_disposable, staging
from podium.compliance.text.terminal import clean
from podium.compliance.tools.packing.git.borrowed import (
    lend,
    lend_whole,
    local_repository,
    refuse_hooks,
)
from podium.compliance.tools.packing.git.directory import GitDirectory
from podium.compliance.tools.packing.git.remote import PROTOCOLS, Remote, chosen_remote
from podium.compliance.tools.packing.git.settings import (
    CONSTANTS,
    DEFAULTS,
    CloneSettings,
    UserSettings,
    as_variables,
    clone_settings,
    refuse_old,
    user_settings,
)

_READING = frozenset({"cat-file", "config", "merge-base", "rev-list", "rev-parse", "version"})
"""Commands that read no file of the work tree."""


class _Lent(NamedTuple):
    folder: Path
    variables: dict[str, str]
    user: UserSettings


class IsolatedGit:
    """Git in one clone; with `read_only`, it uses no remote and no settings of the user."""

    def __init__(self, directory: GitDirectory, *, read_only: bool) -> None:
        self.directory = directory
        self.read_only = read_only
        self._open = ExitStack()
        # Also if the caller ends with an exception
        weakref.finalize(self, self._open.close)

    @cached_property
    def settings(self) -> CloneSettings:
        """The supported part of the clone's configuration."""
        settings = clone_settings(self.directory)
        if settings.includes and not self.read_only:
            raise UsageFault(
                f"the clone's configuration includes another file ({clean(settings.includes)}); "
                "remove this from .git/config"
            )
        return settings

    @cached_property
    def remote(self) -> Remote | None:
        """The remote that the clone names."""
        return None if self.read_only else chosen_remote(self.settings)

    @property
    def user_filters(self) -> frozenset[str]:
        """Names of the filters in the user's configuration."""
        return self._lent.user.filters

    def run(
        self, words: Sequence[str], *, variables: Mapping[str, str] | None = None, text: bytes = b""
    ) -> Finished:
        """Run git; raises UsageFault if git cannot run or exceeds a limit."""
        return run_git(
            words,
            folder=self.directory.root,
            variables={**self._lent.variables, **(variables or {})},
            seconds=READING_SECONDS if words[0] in _READING else WORKING_SECONDS,
            text=text,
        )

    def ask(
        self, words: Sequence[str], text: bytes = b"", *, variables: Mapping[str, str] | None = None
    ) -> bytes:
        """The output of a git command; raises UsageFault with the line that states the error."""
        result = self.run(words, variables=variables, text=text)
        if result.status:
            raise UsageFault(f"git {words[0]} failed: {reason(result.errors)}")
        return result.output

    def lend_remote(self, path: Path) -> Path:
        """A replacement for a repository on this machine, to fetch from and to push to.

        In a fetch or a push, git uses the settings of that repository like those of a clone. The
        repository may come from the same untrusted source as the clone.
        """
        replacement = self._lent.folder / "remote"
        if not replacement.exists():
            inner = local_repository(path)
            settings = clone_settings(GitDirectory(inner, inner, inner))
            refuse_hooks(path, inner, settings)
            replacement.mkdir()
            lend_whole(replacement, inner, settings)
        return replacement

    @cached_property
    def _lent(self) -> _Lent:
        folder = self._new_folder()
        section = self.remote.section(self.directory.root) if self.remote else ""
        lend(folder, self.directory.common, self.settings, remote=section)
        variables = self._variables(folder)
        root = self.directory.root
        version = run_git(("version",), folder=root, variables=variables, seconds=READING_SECONDS)
        refuse_old(version.output.decode("utf-8", "replace"))
        user = UserSettings() if self.read_only else self._user_settings(folder)
        pairs = [*DEFAULTS, *user.pairs, *self.settings.identity, *CONSTANTS]
        return _Lent(folder, variables | as_variables(pairs), user)

    def _new_folder(self) -> Path:
        if self.read_only:
            parent = Path(tempfile.gettempdir())
            target = parent / "podium-git"
        else:
            # Leftovers of a killed call are recognized by their location; no tree has this name
            target, parent = self.directory.root / ".git", self.directory.own
        remove_disposable(target, parent)
        try:
            folder = self._open.enter_context(staging(target, parent, draft=True)) / "common"
            folder.mkdir()
        except OSError as error:
            raise UsageFault(f"{parent} cannot be written to: {error.strerror}") from None
        return folder

    def _user_settings(self, folder: Path) -> UserSettings:
        # With the clone's folder, which the user's conditions may name, but not its settings
        variables = self._places(folder)
        result = run_git(
            ("config", "--list", "--show-scope", "-z"),
            folder=self.directory.root,
            variables=variables,
            seconds=READING_SECONDS,
        )
        if result.status:
            raise UsageFault(f"git config failed: {reason(result.errors)}")
        return user_settings(result.output)

    def _places(self, folder: Path) -> dict[str, str]:
        return {
            "GIT_DIR": str(self.directory.own),
            "GIT_COMMON_DIR": str(folder),
            "GIT_WORK_TREE": str(self.directory.root),
            "GIT_INDEX_FILE": str(self.directory.own / "index"),
            "GIT_OBJECT_DIRECTORY": str(folder / "objects"),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": "",
            # Failures are recognized by git's English messages
            "LC_ALL": "C",
        }

    def _variables(self, folder: Path) -> dict[str, str]:
        return self._places(folder) | {
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_SYSTEM": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_PARAMETERS": "",
            "GIT_CONFIG_COUNT": "0",
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_NO_LAZY_FETCH": "1" if self.read_only else "0",
            "GIT_ALLOW_PROTOCOL": PROTOCOLS,
            # Names may have glob characters; no user is present to answer a prompt or an editor
            "GIT_LITERAL_PATHSPECS": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_EDITOR": "true",
            "GIT_SEQUENCE_EDITOR": "true",
            "GIT_PAGER": "cat",
        }
