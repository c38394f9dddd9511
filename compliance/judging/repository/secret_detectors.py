"""What a secret looks like: the detectors of `detect-secrets`, and those that it lacks.

Only their patterns are used: none of its plugins' verification, which would call the network.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

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
    """API keys of Weights & Biases, which are bare hexadecimal, beside its name."""

    secret_type = "Weights & Biases Key"  # noqa: S105
    denylist = (re.compile(r"(?i)wandb[\w .-]{0,30}[\s:=\"']{1,6}([0-9a-f]{40})\b"),)


class NgcKey(RegexBasedDetector):
    """API keys of NVIDIA's catalogue."""

    secret_type = "NGC Key"  # noqa: S105
    denylist = (re.compile(r"\bnvapi-[\w-]{60,}"),)


class CommandPassword(RegexBasedDetector):
    """Passwords that a script gives to a command: `echo … | sudo -S`, `sshpass -p …`, `curl -u`."""

    secret_type = "Password of a Command"  # noqa: S105
    denylist = (
        re.compile(
            r"""(?:echo|printf)\s+(?:-\w+\s+)*["']?([^\s"'|]+)["']?\s*\|\s*sudo\s.{0,40}?-S"""
        ),
        re.compile(r"""sudo\s.{0,40}?-S.{0,80}?<<<\s*["']?([^\s"']+)"""),
        re.compile(r"""sshpass\s+-p\s*["']?([^\s"']+)"""),
        re.compile(r"""curl\s.{0,200}?(?:-u|--user)[\s=]+["']?[^\s:"'$]+:([^\s"']+)"""),
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
        CommandPassword,
    )
)

# The mark by which users of detect-secrets let a line through
_ALLOWED = re.compile(r"pragma:? *allowlist[ -](?:nextline )?secret", re.IGNORECASE)
_STAND_INS = re.compile(r"pass(?:word|wd)?|user(?:name)?|token|secret|x+|\*+", re.IGNORECASE)


def kind_of_secret(line: str) -> str | None:
    """What kind of secret a line holds; None where it holds none, or says that it is allowed."""
    if _ALLOWED.search(line):
        return None
    for detector in _DETECTORS:
        found: Iterable[str] = detector.analyze_string(line)
        if any(_real(detector, secret) for secret in _texts(found)):
            return str(detector.secret_type)
    return None


def _texts(found: Iterable[str]) -> Iterator[str]:
    return (str(secret) for secret in found)


def _real(detector: RegexBasedDetector, secret: str) -> bool:
    """Whether what matched can be a secret, not a template's variable or a word for one."""
    # These mostly report how a token or key begins: nothing can be said of its characters
    if isinstance(detector, PrivateKeyDetector | GitHubTokenDetector | GitLabTokenDetector):
        return True
    # Vendors write EXAMPLE into the keys of their manuals, which people copy
    stand_in = _STAND_INS.fullmatch(secret) or is_templated_secret(secret) or "EXAMPLE" in secret
    weak = is_sequential_string(secret) or is_not_alphanumeric_string(secret)
    return not (stand_in or weak or is_prefixed_with_dollar_sign(secret))
