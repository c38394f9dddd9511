"""The rules on trees that are stored in a repository."""

from __future__ import annotations

from podium.rules.citations import OWN
from podium.rules.finding import Severity
from podium.rules.fixed.edits import link, rename, write
from podium.rules.fixed.fixed_rule import FixedRule, own, verifier

_PORTABLE = f"{OWN}, Names"
_PUBLISHED = f"{OWN}, Published trees"

_NAMES = "the review repository is checked out on systems that treat such names differently"
_LINKS = "a link must lead to the same file on every machine to which the tree is copied"
_REMOVE = "remove it, or rename it using letters, digits, - and _"
_RENAME = "rename it using letters, digits, - and _"
_INSTEAD = "replace the link with the file itself"

_README = "benchmarks/llama31_405b/README.md"

# --- names ---

# The policy does not mention spaces, dots, sizes and links: only the official checker has these
# rules, and they apply only where the script of a round calls it
SPACE = verifier(
    "repo.space-in-name",
    says="no name contains a space",
    why=_NAMES,
    message="the name has a space",
    help=_REMOVE,
    bad=(write("benchmarks/run notes.txt"),),
    good=(write("benchmarks/run_notes.txt"),),
    reads_content=False,
)
DOT = verifier(
    "repo.leading-dot",
    says="no name begins with a dot",
    why=_NAMES,
    message="the name begins with a dot",
    help=_REMOVE,
    bad=(write("benchmarks/.hidden"),),
    good=(write("benchmarks/hidden"),),
    reads_content=False,
)
CONTROL_CHARACTER = own(
    "repo.control-character",
    says="no name contains a control character",
    why=_NAMES,
    message="the name has a control character or a direction override",
    help=_RENAME,
    cites=_PORTABLE,
    bad=(write("benchmarks/a\tb"),),
    good=(write("benchmarks/a_b"),),
    reads_content=False,
)
WINDOWS_NAME = own(
    "repo.windows-name",
    says="every name is valid on Windows",
    why=_NAMES,
    message="Windows rejects the name: {reason}",
    help=_RENAME,
    cites=_PORTABLE,
    bad=(write("benchmarks/aux.txt"),),
    good=(write("benchmarks/auxiliary.txt"),),
    reads_content=False,
)
LONG_NAME = own(
    "repo.long-name",
    says="a name has at most 255 bytes",
    why="most file systems do not support longer names",
    message="the name has more than {longest} bytes",
    help="shorten it",
    cites=_PORTABLE,
    bad="the name of a file has 256 bytes",
    good="the name has 255 bytes",
    reads_content=False,
)
LONG_PATH = own(
    "repo.long-path",
    Severity.NOTE,
    says="every path is short enough for a checkout on any system",
    why="Windows limits a path to 260 characters, including the folder of the clone",
    message="the path has {length} characters; a clone on Windows may fail",
    help="keep paths to at most {longest} characters",
    cites=_PORTABLE,
    bad=(write(f"benchmarks/{'a' * 100}/{'b' * 100}"),),
    good=(write(f"benchmarks/{'a' * 90}/{'b' * 90}"),),
    reads_content=False,
)
NOT_NFC = own(
    "repo.not-nfc",
    says="names are in composed Unicode (NFC)",
    why=_NAMES,
    message="the name has decomposed characters (not NFC), which other systems write differently",
    help="rename it with composed characters, or in ASCII",
    cites=_PORTABLE,
    bad=(write("benchmarks/re\N{COMBINING ACUTE ACCENT}sume.txt"),),
    good=(write("benchmarks/r\N{LATIN SMALL LETTER E WITH ACUTE}sume.txt"),),
    reads_content=False,
)
NOT_UTF8 = own(
    "repo.not-utf8",
    says="names are valid UTF-8",
    why=_NAMES,
    message="the name is not valid UTF-8",
    help=_RENAME,
    cites=_PORTABLE,
    bad="the name of a file contains the byte ff",
    good="the name has only ASCII characters",
    reads_content=False,
)
CASE_COLLISION = own(
    "repo.case-collision",
    says="names differ by more than case",
    why=_NAMES,
    message="the name differs from {other!r} only in case; some systems keep only one of them",
    help="rename one of them",
    cites=_PORTABLE,
    bad=(write("benchmarks/llama31_405b/readme.MD"),),
    good=(write("benchmarks/llama31_405b/notes.md"),),
    reads_content=False,
)

# --- sizes and kinds ---

# Not the 100 MiB above which GitHub rejects a file: the limit of the official checker is lower
LARGE_FILE = verifier(
    "repo.large-file",
    says="no file is larger than 50 MiB",
    why="the review repository rejects large files",
    message="the file is {mebibytes:.1f} MiB; the limit is 50 MiB",
    help="keep large files out of the tree",
    bad="a file has 50 MiB and one byte",
    good="it has 50 MiB",
)
LFS_POINTER = own(
    "repo.lfs-pointer",
    says="the tree contains the files themselves, not Git LFS pointers",
    why="reviewers do not have access to the store behind a pointer",
    message="the file is a Git LFS pointer, not the file itself",
    help="commit the file itself",
    cites=_PORTABLE,
    bad=(write("benchmarks/data.bin", "version https://git-lfs.github.com/spec/v1\n"),),
    good=(write("benchmarks/data.bin", "the data\n"),),
)
SPECIAL_FILE = own(
    "repo.special-file",
    says="the tree contains only files, folders and links",
    why="a repository cannot store anything else",
    message="neither a file, a folder nor a link; a repository cannot store it",
    help="remove it",
    cites=_PORTABLE,
    bad="the tree contains a named pipe",
    good="the pipe is removed",
)
UNREADABLE = own(
    "repo.unreadable",
    Severity.ERROR,
    says="everything in the tree can be read",
    why="files that cannot be read cannot be checked, and are not accepted",
    message="cannot be read",
    help="correct its permissions, or move it",
    cites=f"{OWN}, Files",
    bad="a folder has no permission to be listed",
    good="everyone has the permission to list it",
)

# --- links ---

BROKEN_LINK = verifier(
    "repo.broken-link",
    says="the target of every link exists",
    why=_LINKS,
    message="the link {problem}",
    help=_INSTEAD,
    bad=(link("benchmarks/link", "nothing"),),
    good=(write("benchmarks/link", "the file\n"),),
)
ABSOLUTE_LINK = own(
    "repo.absolute-link",
    says="links are relative",
    why=_LINKS,
    message="the link is absolute ({target}) and broken on other machines",
    help="use a path relative to the link's folder, or copy the file",
    cites=_PORTABLE,
    bad=(link("benchmarks/link", "/etc/passwd"),),
    good=(link("benchmarks/link", "llama31_405b"),),
)
ESCAPING_LINK = own(
    "repo.escaping-link",
    says="links stay inside the tree",
    why=_LINKS,
    message="the link points outside the tree ({target})",
    help=_INSTEAD,
    cites=_PORTABLE,
    bad=(link("benchmarks/link", "../../"),),
    good=(link("benchmarks/link", "../systems"),),
)
LINK_FROM_ELSEWHERE = verifier(
    "repo.link-from-elsewhere",
    in_verifier=None,
    says="the target of a link also exists relative to the folder in which the official checker "
    "is started",
    why="the official checker resolves links relative to that folder, not to the folder of the "
    "link, and may report them as broken",
    message="the official checker resolves the link relative to the folder in which it is "
    "started, so it may report a broken link",
    help=_INSTEAD,
    bad=(link("benchmarks/link", _README.removeprefix("benchmarks/")),),
    good=(rename(_README, "benchmarks/llama31_405b/README.txt"),),
)

# --- contents ---

SECRET = own(
    "repo.secret",
    says="the tree contains no password, key or token",
    why="the tree is published",
    message="possible secret ({kind})",
    help="remove it and revoke it: everyone who can read the tree can use it",
    cites=_PUBLISHED,
    bad=(write("benchmarks/run.sh", "pip --index https://joe:Zx9Qw8Er7T@example.org/simple\n"),),
    good=(write("benchmarks/run.sh", "pip --index https://$USER:$TOKEN@example.org/simple\n"),),
)
LOCAL_PATH = own(
    "repo.local-path",
    says="no script contains a path in a home folder or a cluster's file system",
    why="a script with such a path runs only on that machine, and reveals who ran it and where",
    message="hard-coded paths: {first}{more}",
    help="read the path from a variable or an argument, and describe it in the README",
    cites=_PUBLISHED,
    bad=(write("benchmarks/run.sh", "export DATA=/home/jdoe/data\n"),),
    good=(write("benchmarks/run.sh", "export DATA=${DATA:?the folder of the data}\n"),),
)
SEARCH_ENDED = own(
    "repo.search-ended",
    Severity.NOTE,
    says="the whole tree was searched for secrets",
    why="very large trees are searched only in part",
    message="{files} files were not searched for secrets: the tree is too large",
    help="search them with another tool",
    cites=_PUBLISHED,
    bad="the files of a tree have more than 256 MiB in total",
    good="they have less",
)

RULES: tuple[FixedRule, ...] = (
    SPACE,
    DOT,
    CONTROL_CHARACTER,
    WINDOWS_NAME,
    LONG_NAME,
    LONG_PATH,
    NOT_NFC,
    NOT_UTF8,
    CASE_COLLISION,
    LARGE_FILE,
    BROKEN_LINK,
    ABSOLUTE_LINK,
    ESCAPING_LINK,
    LINK_FROM_ELSEWHERE,
    LFS_POINTER,
    SECRET,
    LOCAL_PATH,
    SPECIAL_FILE,
    UNREADABLE,
    SEARCH_ENDED,
)
