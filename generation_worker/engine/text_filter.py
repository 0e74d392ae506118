"""What of a model's text is the answer: no thinking aloud, nothing from a stop string on, no space around it."""

THINK_OPEN, THINK_CLOSE = "<think>", "</think>"


class TextFilter:
    """Passes on the text between what must not be seen, holding back whatever might still turn out to be such.

    Everything from the first stop string on is dropped, as are `<think>…</think>` blocks (an unclosed one to the end)
    and white space at both ends, in which stop strings that are nothing but white space do not count. What is passed on
    does not depend on how the text was cut into pieces.
    """

    def __init__(self, stops: tuple[str, ...]) -> None:
        self._stops = stops
        self._held = ""
        self._space = ""
        self._is_thinking = False
        self._has_begun = False
        self.is_stopped = False

    def feed(self, piece: str) -> str:
        """Return the text that is safe to show by now."""
        if self.is_stopped:
            return ""
        self._held += piece
        return self._take(is_last=False)

    def finish(self) -> str:
        """Return the rest; the end has come."""
        return "" if self.is_stopped else self._take(is_last=True)

    def _take(self, *, is_last: bool) -> str:
        shown = ""
        while True:
            if self._is_thinking:
                before, found, after = self._held.partition(THINK_CLOSE)
                if not found:
                    self._held = "" if is_last else _possible_start(before, (THINK_CLOSE,))
                    break
                self._held, self._is_thinking = after, False
                continue
            has_begun = self._has_begun or bool(shown.strip())
            begin = 0 if has_begun else len(self._held) - len(self._held.lstrip())
            position, marker = _first_of(self._held, (*self._stops, THINK_OPEN), begin)
            if marker is None:
                tail = "" if is_last else _possible_start(self._held, (*self._stops, THINK_OPEN))
                shown += self._held[: len(self._held) - len(tail)]
                self._held = tail
                break
            shown += self._held[:position]
            self._held = self._held[position + len(marker) :]
            if marker != THINK_OPEN:
                self._held, self.is_stopped = "", True
                break
            self._is_thinking = True
        return self._trim(shown)

    def _trim(self, shown: str) -> str:
        """Hold white space back until something follows it, and drop it where nothing came before."""
        shown = self._space + shown
        if not self._has_begun:
            shown = shown.lstrip()
        kept = shown.rstrip()
        self._space = shown[len(kept) :]
        self._has_begun = self._has_begun or bool(kept)
        return kept


def _first_of(text: str, markers: tuple[str, ...], begin: int) -> tuple[int, str | None]:
    """Return where a marker starts and which: the one that is complete first, the longest of those.

    The one that starts first would depend on how the text was cut: a longer one may not be complete yet. Those of white
    space are looked for from `begin` on.
    """
    found = [
        (position + len(marker), -len(marker), marker)
        for marker in markers
        if (position := text.find(marker, 0 if marker.strip() else begin)) >= 0
    ]
    if not found:
        return len(text), None
    end, _, marker = min(found)
    return end - len(marker), marker


def _possible_start(text: str, markers: tuple[str, ...]) -> str:
    """Return the longest end of `text` that a marker begins with."""
    for length in range(min(len(text), max(map(len, markers)) - 1), 0, -1):
        tail = text[-length:]
        if any(marker.startswith(tail) for marker in markers):
            return tail
    return ""
