"""Where a name is defined: terms of their own in the lexical index, so that a definition stands before every use."""

import re
from collections.abc import Sequence
from itertools import pairwise

from retrieval_server.engine.words.analyser import MAX_TERM_CHARS
from retrieval_server.model import ContentKind

# No analysed term holds these marks, so no word of a text or a query can be taken for a definition.
_DEFINES = "="
_WITHIN = "/"

# Lines are found by the break before them, which `re` skips to, and not by "^", which it tries at every character; so
# each text is searched with a break before its first line. Indentation is taken whole, or every part of it is tried;
# nobody writes more than eight words before a name, and of lines of nothing else each would be read to the end.
# What a module assigns, exports or defines for the preprocessor; what is indented is local and not looked up by name.
_ASSIGNED = re.compile(
    r"\n(?:(?:(?:export|pub|static|const|constexpr|let|var|final|inline)\s+){0,8}"
    r"([^\W\d]\w*)\s*(?::(?!:)[^=\n]{1,80})?=(?![=>])|#\s*define\s+([^\W\d]\w*))"
)
# A definition's first line, in the languages that have a word for it: one that is split keeps its name in one chunk.
_DECLARED = re.compile(
    r"\n[ \t]*+(?:(?:export|default|pub(?:\([\w ]+\))?|public|private|protected|internal|static|abstract|final|sealed"
    r"|async|unsafe|const|inline|extern|data|open|typedef|template\s*<[^>\n]*>)\s+){0,8}"
    r"(?:def|class|struct|union|enum(?:\s+class)?|trait|interface|type|namespace|module|mod|fn|func|function"
    r"|macro_rules!|object|protocol)\s+(?:\([^)\n]*\)\s*)?([^\W\d]\w*)"
)
# A key of a data file.
_KEY = re.compile(r"\n[ \t]*+(?:-[ \t]+)?[\"']?([^\W\d][\w.-]*)[\"']?[ \t]*[:=]")
_SEPARATORS = re.compile(r"::|->|[.#/]")
_MAX_DEFINED = 100
_AROUND_NAME = " \t\n`'\"?!,;:*&()[]{}<>"


def definition_terms(kind: ContentKind, breadcrumbs: Sequence[str], names: Sequence[str], text: str) -> list[str]:
    """Return the terms under which the names that a chunk defines are found.

    `names` are those of its definitions, headings or keys, `breadcrumbs` what encloses them; a name is also found
    together with its nearest encloser, as in `Class.method`.
    """
    defined = [_folded(name) for name in names]
    lines = f"\n{text}".replace("\r", "\n")
    if kind is ContentKind.CODE:
        defined += (_folded(match[1] or match[2]) for match in _ASSIGNED.finditer(lines))
        defined += (_folded(match[1]) for match in _DECLARED.finditer(lines))
    if kind is ContentKind.DATA:
        defined += (_folded(match[1]) for match in _KEY.finditer(lines))
    defined = [name for name in dict.fromkeys(defined) if name][:_MAX_DEFINED]
    enclosers = [_folded(crumb) for crumb in breadcrumbs]
    terms = [f"{_DEFINES}{name}" for name in defined]
    for name in defined:
        outer = enclosers[: enclosers.index(name)] if name in enclosers else enclosers
        terms += (f"{_DEFINES}{encloser}{_WITHIN}{name}" for encloser in outer[-1:])
    return terms


def names_in(query: str) -> list[str]:
    """Return the parts of a name as it was asked for, case-folded, outermost first: "a::B.c()" → a, b, c."""
    return [part for part in map(_folded, _SEPARATORS.split(query.strip(_AROUND_NAME))) if part]


def wanted_definitions(parts: Sequence[str]) -> dict[str, float]:
    """Return the terms that define the last of `parts`, and their weights: within its encloser it weighs most."""
    if not parts:
        return {}
    wanted = {f"{_DEFINES}{parts[-1]}": 1.0}
    wanted |= {f"{_DEFINES}{outer}{_WITHIN}{inner}": 2.0 for outer, inner in list(pairwise(parts))[-1:]}
    return wanted


def _folded(name: str) -> str:
    return "".join(name.split()).strip(_AROUND_NAME).casefold()[:MAX_TERM_CHARS]
