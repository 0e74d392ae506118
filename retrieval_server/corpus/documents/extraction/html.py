"""The text of an HTML page, in Markdown's notation for headings, code and lists."""

import re
from collections.abc import Iterator

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from retrieval_server.corpus.documents.decode import storable
from retrieval_server.engine.chunkers.markdown import fenced

_DROPPED_TEXT = "head script style nav noscript template svg math iframe object canvas audio video select button"
_DROPPED = frozenset(_DROPPED_TEXT.split())
_PARAGRAPHS_TEXT = "p ul ol dl table blockquote figure form section article main aside header footer"
_PARAGRAPHS = frozenset(_PARAGRAPHS_TEXT.split())
_LINES_TEXT = "div li dt dd tr caption figcaption fieldset legend summary details address center br hr"
_LINES = frozenset(_LINES_TEXT.split())
_CELLS = frozenset({"td", "th"})
_HEADING = re.compile(r"h[1-6]")
_TEMPLATE_MARKS = ("{%", "{{", "{#", "<%", "<?php")
_SPACES = re.compile(r"\s+")
# What would be a heading, the line below one, or a fence.
_LOOKS_LIKE_MARKUP = re.compile(r"#{1,6}(?:\s|$)|`{3}|~{3}|(?:=+|-+)$")
# What tools put beside a heading, to link to it.
_HEADING_LINK_MARKS = "¶§🔗 "


def is_template(source: str) -> bool:
    """Tell whether a page is still to be made from `source`, which is code then."""
    return source.lstrip().startswith(_TEMPLATE_MARKS)


def html_text(source: str) -> tuple[str, str]:
    """Return (text, title) of a page without scripts, styles and navigation; each is "" where there is none.

    Where a page says what its main content is, the text is that.
    """
    try:
        parsed = LexborHTMLParser(source)
    except SelectolaxError:
        return "", ""
    title = parsed.css_first("head title")
    content = parsed.css_first("main, [role=main]")
    text = _text_of(content) or _text_of(parsed.body)
    return storable(text), storable(" ".join(title.text().split())) if title is not None else ""


def _text_of(root: LexborNode | None) -> str:
    page = _Page()
    for node, is_left in _walk(root) if root is not None else ():
        if is_left:
            page.leave(node)
        else:
            page.enter(node)
    return page.text()


def _walk(root: LexborNode) -> Iterator[tuple[LexborNode, bool]]:
    """Yield every node that is to be read when it is entered, and (node, True) when it is left; however deep."""
    open_nodes = [(root, False)]
    while open_nodes:
        node, is_left = open_nodes.pop()
        yield node, is_left
        if is_left or _is_dropped(node):
            continue
        open_nodes.append((node, True))
        child = node.last_child
        while child is not None:
            open_nodes.append((child, False))
            child = child.prev


def _is_dropped(node: LexborNode) -> bool:
    return node.tag in _DROPPED or (node.is_element_node and node.attributes.get("role") == "navigation")


class _Page:
    """Text as it grows, line by line."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._inline: list[str] = []
        self._prefix = ""
        self._is_blank_due = False
        self._preformatted: list[str] | None = None

    def text(self) -> str:
        """Return all of it."""
        self._end_line()
        return "".join(self._lines)

    def enter(self, node: LexborNode) -> None:
        """Take a node's beginning."""
        tag = node.tag or ""
        if node.is_text_node:
            text = node.text_content or ""
            (self._inline if self._preformatted is None else self._preformatted).append(text)
        elif self._preformatted is not None:
            if tag == "br":
                self._preformatted.append("\n")
        elif tag == "pre":
            self._end_block()
            self._preformatted = []
        elif tag in _CELLS and self._inline:
            self._inline.append(" | ")
        elif tag == "img":
            self._inline.append(f" {node.attributes.get('alt') or ''} ")
        else:
            self._end_line_at(tag)
            if _HEADING.fullmatch(tag):
                self._prefix = "#" * int(tag[1]) + " "
            elif tag == "li":
                self._prefix = "- "

    def leave(self, node: LexborNode) -> None:
        """Take a node's end."""
        tag = node.tag or ""
        if self._preformatted is None:
            self._end_line_at(tag)
        elif tag == "pre":
            code = "".join(self._preformatted).strip("\r\n")
            self._preformatted = None
            if code.strip():
                self._add(fenced(code, ""))
                self._end_block()

    def _end_line_at(self, tag: str) -> None:
        if tag in _PARAGRAPHS or _HEADING.fullmatch(tag):
            self._end_block()
        elif tag in _LINES:
            self._end_line()

    def _end_block(self) -> None:
        self._end_line()
        self._is_blank_due = True

    def _end_line(self) -> None:
        line = _SPACES.sub(" ", "".join(self._inline)).strip(" |")
        self._inline.clear()
        if self._prefix.startswith("#"):
            line = line.strip(_HEADING_LINK_MARKS)
        elif _LOOKS_LIKE_MARKUP.match(line):
            line = f"\\{line}"
        if line:
            self._add(self._prefix + line)
            self._prefix = ""

    def _add(self, lines: str) -> None:
        if self._is_blank_due and self._lines:
            self._lines.append("\n")
        self._lines.append(f"{lines}\n")
        self._is_blank_due = False
