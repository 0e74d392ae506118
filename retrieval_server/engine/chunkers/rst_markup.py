"""Lines of reStructuredText that mean something by themselves: adornments of titles, directives, labels."""

import re
import string
import unicodedata
from dataclasses import dataclass
from itertools import islice

_DIRECTIVE = re.compile(r"( *)\.\. ((?:[\w.+-]++:)?[\w.+-]++)::(?:[ \t]++(.*))?$")
_LABEL = re.compile(r"\.\. _.*:[ \t]*$")
# A field such as `:orphan:`, which concerns the document.
_FIELD = re.compile(r":[\w-]+:(?:[ \t]|$)")
_SURE_SIGN = re.compile(r"^\.\. (?:_[\w.-]++:|[\w+-]++(?::[\w+-]++)?::)", re.MULTILINE)
_SURE_SIGN_COUNT = 2
_PUNCTUATION = frozenset(string.punctuation)
# An underline may be shorter than its title from this length on.
_SURE_UNDERLINE_CHARS = 4
# Directives whose content is not reStructuredText.
_LITERAL = """
    code code-block sourcecode literalinclude parsed-literal raw math csv-table table list-table productionlist
    graphviz digraph graph uml mermaid plot testcode testsetup testcleanup testoutput doctest prompt ipython
    jupyter-execute"""
# Directives that hold text or steer the build, and name nothing.
_UNNAMING = """
    attention caution danger error hint important note tip warning admonition seealso todo deprecated versionadded
    versionchanged versionremoved version-added version-changed topic sidebar rubric centered hlist container compound
    epigraph highlights pull-quote image figure toctree contents sectnum header footer only ifconfig include meta title
    default-role role replace unicode date tabularcolumns target-notes glossary autosummary acks grid grid-item
    grid-item-card card tab-set tab-item tabs tab group-tab code-tab dropdown collapse details button-link
    button-ref"""
# Directives that concern what follows them, such as a heading.
_LEADING = """
    index module currentmodule highlight default-domain py:module py:currentmodule js:module c:namespace cpp:namespace
    program"""
# Directives whose argument goes on behind the name; elsewhere several words are a caption.
_SEVERAL_WORDS = frozenset({"option", "attribute", "data", "function", "method", "class", "describe"})
LITERAL_DIRECTIVES = frozenset(_LITERAL.split())
LEADING_DIRECTIVES = frozenset(_LEADING.split())
_UNNAMING_DIRECTIVES = LITERAL_DIRECTIVES | LEADING_DIRECTIVES | frozenset(_UNNAMING.split())


def looks_like_restructuredtext(text: str) -> bool:
    """Tell whether a text, whatever it is called, has lines that hardly anything but reStructuredText has."""
    return sum(1 for _ in islice(_SURE_SIGN.finditer(text), _SURE_SIGN_COUNT)) == _SURE_SIGN_COUNT


@dataclass(frozen=True, slots=True)
class Directive:
    """`.. name:: argument`, indented by `indent` columns."""

    indent: int
    name: str
    argument: str

    @property
    def object_name(self) -> str:
        """What it describes, such as a class, a function or a setting; empty for those that describe nothing."""
        if self.name in _UNNAMING_DIRECTIVES:
            return ""
        words = self.argument.split("(", 1)[0].split()
        if not words or (len(words) > 1 and ":" not in self.name and self.name not in _SEVERAL_WORDS):
            return ""
        # In C a name stands behind its type; elsewhere what follows it is a value or the like.
        name = words[-1 if self.name.startswith(("c:", "cpp:")) else 0].strip("*&,;:`")
        return name if any(char.isalpha() for char in name) else ""

    @property
    def is_own_mark(self) -> bool:
        """Whether it may be a project's own directive that only says what the heading or object below it is about."""
        return bool(self.object_name) and ":" not in self.name and not self.name.startswith("auto")


def directive_of(line: str) -> Directive | None:
    """Return the directive that begins with `line`, or None."""
    found = _DIRECTIVE.match(line)
    return Directive(len(found.group(1)), found.group(2), (found.group(3) or "").strip()) if found else None


def leads_to_title(line: str) -> bool:
    """Tell whether `line`, right above a title, belongs to it: `.. _label:`, a target for references, or a field."""
    return (line.startswith(".. _") and _LABEL.match(line) is not None) or _FIELD.match(line) is not None


def adornment_of(line: str) -> str:
    """Return the character of which alone `line` consists, as an underline does; "" when it is no such line."""
    mark = line[:1]
    return mark if mark in _PUNCTUATION and not line.rstrip().strip(mark) else ""


def underlines(line: str, title: str) -> bool:
    """Tell whether an adornment is long enough for `title`."""
    length = len(line.rstrip())
    return length >= _SURE_UNDERLINE_CHARS or length >= _columns(title.rstrip())


def _columns(text: str) -> int:
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )
