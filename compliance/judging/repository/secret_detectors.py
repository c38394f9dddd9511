"""The patterns of secrets: the detectors of `detect-secrets`, and further detectors.

Only the patterns are used. The plugins' verification, which would call the network, is not used.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator

from detect_secrets.filters.heuristic import (
    is_not_alphanumeric_string,
    is_prefixed_with_dollar_sign,
    is_sequential_string,
    is_templated_secret,
)
from detect_secrets.plugins.aws import AWSKeyDetector
from detect_secrets.plugins.azure_storage_key import AzureStorageKeyDetector
from detect_secrets.plugins.base import RegexBasedDetector
from detect_secrets.plugins.basic_auth import BasicAuthDetector
from detect_secrets.plugins.github_token import GitHubTokenDetector
from detect_secrets.plugins.gitlab_token import GitLabTokenDetector
from detect_secrets.plugins.jwt import JwtTokenDetector
from detect_secrets.plugins.npm import NpmDetector
from detect_secrets.plugins.openai import OpenAIDetector
from detect_secrets.plugins.private_key import PrivateKeyDetector
from detect_secrets.plugins.pypi_token import PypiTokenDetector
from detect_secrets.plugins.sendgrid import SendGridDetector
from detect_secrets.plugins.slack import SlackDetector
from detect_secrets.plugins.stripe import StripeDetector


class FineGitHubToken(RegexBasedDetector):
    """GitHub's fine-grained tokens."""

    secret_type = "GitHub Token"  # noqa: S105
    denylist = (re.compile(r"github_pat_\w{50,}"),)


class HuggingFaceToken(RegexBasedDetector):
    """Access tokens of the Hugging Face hub."""

    secret_type = "Hugging Face Token"  # noqa: S105
    denylist = (re.compile(r"\bhf_[A-Za-z0-9]{34,}\b"),)


class WandbKey(RegexBasedDetector):
    """API keys of Weights & Biases: hexadecimal digits after its name."""

    secret_type = "Weights & Biases Key"  # noqa: S105
    denylist = (re.compile(r"(?i)wandb[\w .-]{0,30}[\s:=\"']{1,6}([0-9a-f]{40})\b"),)


class NgcKey(RegexBasedDetector):
    """API keys of NVIDIA's catalog (NGC)."""

    secret_type = "NGC Key"  # noqa: S105
    denylist = (re.compile(r"\bnvapi-[\w-]{60,}"),)


_WORD = r"(?:'([^'$\n]{4,})'|\"([^\"$\n]{4,})\"|([^\s'\"$|;<>(){}]{4,}))"
"""A word of a shell that is not a variable, quoted or not."""


class _PatternGroups(RegexBasedDetector):
    """A detector whose patterns have several groups, one of which matches."""

    def analyze_string(self, string: str) -> Generator[str, None, None]:
        """The groups that match."""
        for pattern in self.denylist:
            for match in pattern.finditer(string):
                yield from filter(None, match.groups())


class PasswordOnCommandLine(_PatternGroups):
    """Passwords that a script passes to a program, in its arguments or its environment."""

    secret_type = "Password on a command line"  # noqa: S105
    denylist = (
        re.compile(rf"\becho\s+(?:-\w+\s+)*{_WORD}\s*\|\s*sudo\s+(?:-\S+\s+)*?-\w*S"),
        re.compile(rf"\bsudo\s+(?:-\S+\s+)*?-\w*S\b[^|;\n]*?<<<\s*{_WORD}"),
        re.compile(rf"\bsshpass\s+-p\s*{_WORD}"),
        re.compile(r"\bmysql\w*\s(?:[^|;\n]*?\s)?-p([^\s'\"$]{4,})"),
        re.compile(rf"\blogin\s(?:[^|;\n]*?\s)?(?:-p|--password)[\s=]+{_WORD}"),
        re.compile(rf"(?<![A-Za-z])[A-Z_]*(?:PASSWORD|SECRET_ACCESS_KEY)={_WORD}"),
        re.compile(r"\bcurl\s[^|;\n]*?(?<=\s)(?:-u|--user)[\s=]*['\"]?[^\s:'\"$]+:([^\s'\"$]{4,})"),
    )


class TokenInUrl(_PatternGroups):
    """Tokens in a URL: in place of a user, or as a parameter."""

    secret_type = "Token in a URL"  # noqa: S105
    denylist = (
        re.compile(r"://([\w-]{16,})@"),
        re.compile(r"://\S+?[?&][\w-]{0,20}token=([\w.-]{16,})"),
        re.compile(r"://\S+?[?&](?:[\w-]{0,20}[_-])?(?:api)?key=([\w.-]{16,})"),
    )


_DETECTORS = tuple(
    detector()
    for detector in (
        AWSKeyDetector,
        AzureStorageKeyDetector,
        BasicAuthDetector,
        GitHubTokenDetector,
        GitLabTokenDetector,
        JwtTokenDetector,
        NpmDetector,
        OpenAIDetector,
        PrivateKeyDetector,
        PypiTokenDetector,
        SendGridDetector,
        SlackDetector,
        StripeDetector,
        FineGitHubToken,
        HuggingFaceToken,
        WandbKey,
        NgcKey,
        PasswordOnCommandLine,
        TokenInUrl,
    )
)

# The mark with which users of detect-secrets exempt a line
_ALLOWED = re.compile(r"pragma:? *allowlist[ -](?:nextline )?secret", re.IGNORECASE)
_STAND_INS = re.compile(r"pass(?:word|wd)?|user(?:name)?|token|secret|x+|\*+", re.IGNORECASE)
_EXAMPLES = re.compile(r"EXAMPLE|redacted|placeholder|change-?me|your[-_]?\w|dummy|xxxx|<", re.I)
_HIDDEN_KEY = re.compile(r"PRIVATE KEY-----.{0,20}?(?:redacted|example|\.\.\.|<|\*{4}|x{8})", re.I)

PRIVATE_KEY = str(PrivateKeyDetector.secret_type)


def kind_of_secret(line: str) -> str | None:
    """The kind of secret in a line; None if the line has none, or has the mark that exempts it."""
    if _ALLOWED.search(line):
        return None
    is_visible = not _HIDDEN_KEY.search(line)
    for detector in _DETECTORS:
        matches: Iterable[str] = detector.analyze_string(line)
        if not is_visible and isinstance(detector, PrivateKeyDetector):
            continue
        if any(_real(detector, secret) for secret in _texts(matches)):
            return str(detector.secret_type)
    return None


def _texts(matches: Iterable[str]) -> Iterator[str]:
    return (str(secret) for secret in matches)


def _real(detector: RegexBasedDetector, secret: str) -> bool:
    """Whether a match can be a secret, and is not a template's variable or a word for a secret."""
    # These mostly report the beginning of a token or key, whose characters say nothing
    if isinstance(detector, PrivateKeyDetector | GitHubTokenDetector | GitLabTokenDetector):
        return True
    # Vendors write EXAMPLE into the keys in their manuals, which people copy
    stand_in = (
        _STAND_INS.fullmatch(secret) or is_templated_secret(secret) or _EXAMPLES.search(secret)
    )
    is_weak = is_sequential_string(secret) or is_not_alphanumeric_string(secret)
    return not (stand_in or is_weak or is_prefixed_with_dollar_sign(secret))
