"""What a tree must be to live in a repository: one value for each rule."""

from __future__ import annotations

from podium.rules.citations import OWN
from podium.rules.finding import Severity
from podium.rules.fixed.edits import link, rename, write
from podium.rules.fixed.fixed_rule import FixedRule, own, verifier

_PORTABLE = f"{OWN}, Names"
_PUBLISHED = f"{OWN}, Published trees"

_NAMES = "the review repository is checked out on systems that treat such names differently"
_LINKS = "a link must lead to the same file on every machine that the tree is copied to"
_REMOVE = "remove it, or rename it with letters, digits, - and _"
_RENAME = "rename it with letters, digits, - and _"
_INSTEAD = "put the file itself in the link's place"

_README = "benchmarks/llama31_405b/README.md"

# --- names ---

# The policy says nothing of spaces, dots, sizes and links: these rules are the official checker's
# alone, and only where the script of a round calls it
SPACE = verifier(
    "repo.space-in-name",
    says="no name holds a space",
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
    says="no name holds control characters",
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
    says="Windows accepts every name",
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
    why=_NAMES,
    message="the name has more than {longest} bytes",
    help="shorten it",
    cites=_PORTABLE,
    bad="the name of a file has 256 bytes",
    good="it has 255",
    reads_content=False,
)
LONG_PATH = own(
    "repo.long-path",
    Severity.NOTE,
    says="no path is too long to be checked out",
    why=_NAMES,
    message="the path has {length} characters: a clone on Windows may fail on it",
    help="keep paths within {longest} characters",
    cites=_PORTABLE,
    bad=(write(f"benchmarks/{'a' * 100}/{'b' * 100}"),),
    good=(write(f"benchmarks/{'a' * 90}/{'b' * 90}"),),
    reads_content=False,
)
NOT_NFC = own(
    "repo.not-nfc",
    says="names are in composed Unicode",
    why=_NAMES,
    message="the name has decomposed characters, which other systems write differently (not NFC)",
    help="rename it in composed characters, or in ASCII",
    cites=_PORTABLE,
    bad=(write("benchmarks/re\N{COMBINING ACUTE ACCENT}sume.txt"),),
    good=(write("benchmarks/r\N{LATIN SMALL LETTER E WITH ACUTE}sume.txt"),),
    reads_content=False,
)
NOT_UTF8 = own(
    "repo.not-utf8",
    says="names are UTF-8 text",
    why=_NAMES,
    message="the name is not UTF-8 text",
    help=_RENAME,
    cites=_PORTABLE,
    bad="the name of a file holds the byte ff",
    good="it holds ASCII characters only",
    reads_content=False,
)
CASE_COLLISION = own(
    "repo.case-collision",
    says="names differ by more than case",
    why=_NAMES,
    message="the name differs from {other!r} only in capitals: some systems keep one of them",
    help="rename one of them",
    cites=_PORTABLE,
    bad=(write("benchmarks/llama31_405b/readme.MD"),),
    good=(write("benchmarks/llama31_405b/notes.md"),),
    reads_content=False,
)

# --- sizes and kinds ---

# Not the 100 MiB at which GitHub refuses a file: the official checker draws the line lower
LARGE_FILE = verifier(
    "repo.large-file",
    says="no file is larger than 50 MiB",
    why="the review repository refuses large files",
    message="the file has {mebibytes:.1f} MiB, and 50 MiB is the most",
    help="keep large files out of the tree",
    bad="a file has 50 MiB and one byte",
    good="it has 50 MiB",
)
LFS_POINTER = own(
    "repo.lfs-pointer",
    says="files are there, not pointers to them",
    why="reviewers do not have the store behind it",
    message="a pointer to a large file kept elsewhere (git LFS), not the file itself",
    help="commit the file itself",
    cites=_PORTABLE,
    bad=(write("benchmarks/data.bin", "version https://git-lfs.github.com/spec/v1\n"),),
    good=(write("benchmarks/data.bin", "the data\n"),),
)
SPECIAL_FILE = own(
    "repo.special-file",
    says="the tree holds files, folders and links only",
    why="a repository stores nothing else",
    message="neither a file, a folder nor a link: a repository cannot hold it",
    help="remove it",
    cites=_PORTABLE,
    bad="a named pipe lies in the tree",
    good="it is removed",
)
UNREADABLE = own(
    "repo.unreadable",
    Severity.ERROR,
    says="everything in the tree can be read",
    why="what cannot be read cannot be judged, and is not accepted",
    message="it cannot be read",
    help="correct its permissions, or move it",
    cites=f"{OWN}, Files",
    bad="a folder may not be listed",
    good="everybody may list it",
)

# --- links ---

BROKEN_LINK = verifier(
    "repo.broken-link",
    says="every link leads to something",
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
    message="the link is absolute ({target}): on another machine it leads nowhere",
    help="write it from its folder",
    cites=_PORTABLE,
    bad=(link("benchmarks/link", "/etc/passwd"),),
    good=(link("benchmarks/link", "llama31_405b"),),
)
ESCAPING_LINK = own(
    "repo.escaping-link",
    says="links stay in the tree",
    why=_LINKS,
    message="the link leads out of the tree ({target})",
    help=_INSTEAD,
    cites=_PORTABLE,
    bad=(link("benchmarks/link", "../../"),),
    good=(link("benchmarks/link", "../systems"),),
)
LINK_FROM_ELSEWHERE = verifier(
    "repo.link-from-elsewhere",
    in_verifier=None,
    says="a link can be followed from the current folder, too",
    why="the official program follows links from where it was started, and then reports them as "
    "broken links",
    message="the official checker takes the target from the folder it is started in, so that it "
    "may call this link broken",
    help=_INSTEAD,
    bad=(link("benchmarks/link", _README.removeprefix("benchmarks/")),),
    good=(rename(_README, "benchmarks/llama31_405b/README.txt"),),
)

# --- contents ---

SECRET = own(
    "repo.secret",
    says="no password, key or token is left in the tree",
    why="the tree is published",
    message="this line seems to hold a secret ({kind})",
    help="remove it and revoke it: everyone who reads the tree can use it",
    cites=_PUBLISHED,
    bad=(write("benchmarks/run.sh", "pip --index https://joe:Zx9Qw8Er7T@example.org/simple\n"),),
    good=(write("benchmarks/run.sh", "pip --index https://$USER:$TOKEN@example.org/simple\n"),),
)
LOCAL_PATH = own(
    "repo.local-path",
    says="no script holds a path of somebody's home or of a cluster's file system",
    why="a script with such a path runs nowhere else, and tells who has run it, and where",
    message="paths of one machine: {first}{more}",
    help="take the path from a variable or an argument, and say in the README what it must hold",
    cites=_PUBLISHED,
    bad=(write("benchmarks/run.sh", "export DATA=/home/jdoe/data\n"),),
    good=(write("benchmarks/run.sh", "export DATA=${DATA:?the folder of the data}\n"),),
)
SEARCH_ENDED = own(
    "repo.search-ended",
    Severity.NOTE,
    says="all of the tree was searched for secrets",
    why="very large trees are searched in part only",
    message="{files} files were not searched for secrets: the tree is too large",
    help="search them by another tool",
    cites=_PUBLISHED,
    bad="the files of a tree have more than 256 MiB",
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
