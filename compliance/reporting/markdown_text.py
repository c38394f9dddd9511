"""Text of logs and files inside Markdown: shown as it is, with no markup, mention or link."""

from __future__ import annotations

import re

from podium.compliance.text.terminal import clean

# Where text becomes a link by itself: addresses, e-mail, mentions, issues. What stands before makes
# no difference: after `_` and `(` GitHub makes one, too
_SPECIAL = re.compile(
    r"(?P<link>@(?=\w)|#(?=\d)|GH-(?=\d)|:(?=/)|(?<=www)(?=\.)"
    r"|(?:mailto|xmpp):)"
    r"|[\\`*{}\[\]<>&|~$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])",
    re.IGNORECASE,
)
_SIMPLE = re.compile(r"[\w./:,=+()-]+(?: [\w./:,=+()-]+)*", re.ASCII)


def escape(text: str) -> str:
    """Escape text so that Markdown and HTML show it as it is: no markup, mention or link."""
    return _SPECIAL.sub(
        # GitHub makes links of mentions and addresses after it has decoded entities: only something
        # between their characters breaks them
        lambda mark: f"{mark[0]}<!-- -->" if mark["link"] is not None else f"&#{ord(mark[0])};",
        clean(text),
    )


def code(text: str) -> str:
    """Set text as code."""
    text = clean(text)
    # A backtick in the text would end the code, a pipe the cell of a table
    return f"`{text}`" if _SIMPLE.fullmatch(text) else f"<code>{escape(text)}</code>"
