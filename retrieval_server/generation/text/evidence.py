"""The lines of the passages that an answer may rest on, and which few of them best hold a set of terms."""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from retrieval_server.engine.words.analyser import analyse_terms
from retrieval_server.engine.words.stop_words import STOP_TERMS
from retrieval_server.generation.text.sentences import line_spans
from retrieval_server.model import Passage

_MAX_WINDOW_LINES = 4
# What another line must add to a window, as a share of all that is asked for, to be worth reading.
_MIN_LINE_GAIN = 0.03
_DECISIVE_FACTOR = 3
_NOTHING: frozenset[str] = frozenset()


def content_terms(text: str) -> frozenset[str]:
    """Return the distinct index terms of `text` that say something by themselves."""
    return frozenset(analyse_terms(text)) - STOP_TERMS


@dataclass(frozen=True, slots=True)
class Window:
    """Whole consecutive lines of one passage: offsets into the passage's text, lines counted from 0 within it."""

    passage_index: int
    first_line: int
    last_line: int
    start: int
    end: int
    covered: frozenset[str]


class Evidence:
    """The lines of some passages, searchable by term."""

    def __init__(self, passages: Sequence[Passage], left_out: Collection[int] = ()) -> None:
        self._spans: list[list[tuple[int, int]]] = []
        self._lines_of_term: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        self._context_terms: set[str] = set()
        line_counts: Counter[str] = Counter()
        self._line_count = 0
        for passage_index, passage in enumerate(passages):
            spans = [] if passage_index in left_out else line_spans(passage.text)
            self._spans.append(spans)
            self._context_terms |= content_terms(" ".join((passage.path, *passage.breadcrumbs)))
            for line, (start, end) in enumerate(spans):
                terms = content_terms(passage.text[start:end])
                self._line_count += bool(terms)
                line_counts.update(terms)
                for term in terms:
                    self._lines_of_term[term].append((passage_index, line))
        self._line_counts = line_counts

    def weight(self, terms: Collection[str]) -> int:
        """Return the summed idf of `terms` over these lines: `ln(1 + (N - n + 0.5) / (n + 0.5))` each, as in BM25.

        In whole millionths, so that sums do not depend on the order of a set.
        """
        return sum(map(self._term_weight, terms))

    def checkable(self, terms: frozenset[str]) -> frozenset[str]:
        """Return `terms` without those that lines need not hold: words of paths and headings, and bare numbers."""
        return frozenset(
            term
            for term in terms
            if term in self._lines_of_term or not (term in self._context_terms or term.replace("_", "").isdigit())
        )

    def line_window(self, passage_index: int, first_line: int, last_line: int, covered: frozenset[str]) -> Window:
        """Return the window of these lines."""
        spans = self._spans[passage_index]
        return Window(passage_index, first_line, last_line, spans[first_line][0], spans[last_line][1], covered)

    def span_window(self, passage_index: int, start: int, end: int) -> Window:
        """Return the window of the lines that hold `text[start:end]`; it covers no terms."""
        spans = self._spans[passage_index]
        lines = [line for line, span in enumerate(spans) if span[0] < end and span[1] > start]
        return self.line_window(passage_index, lines[0], lines[-1], _NOTHING)

    def best_window(
        self, terms: frozenset[str], only: Collection[int] | None = None, *, decisive: frozenset[str] = _NOTHING
    ) -> Window | None:
        """Return the few lines that hold most of `terms` by weight; None when no line holds any.

        `only` restricts the search to some passages. Terms that are `decisive` weigh three times as much. Equals go to
        the better passage, then the fewer lines, then the earlier ones.
        """
        found: defaultdict[tuple[int, int], set[str]] = defaultdict(set)
        for term in terms:
            for place in self._lines_of_term.get(term, ()):
                if only is None or place[0] in only:
                    found[place].add(term)
        weights = {term: self.weight((term,)) * (_DECISIVE_FACTOR if term in decisive else 1) for term in terms}
        line_cost = int(_MIN_LINE_GAIN * sum(weights.values()))
        best: tuple[int, int, int, int] | None = None
        best_covered: frozenset[str] = frozenset()
        for passage_index, first_line in sorted(found):
            covered: set[str] = set()
            gain = 0
            for line_count in range(1, _MAX_WINDOW_LINES + 1):
                held = found.get((passage_index, first_line + line_count - 1), _NOTHING)
                gain += sum(weights[term] for term in held - covered) - (line_cost if line_count > 1 else 0)
                covered |= held
                if best is None or gain > best[0]:
                    best = (gain, passage_index, first_line, line_count)
                    best_covered = frozenset(covered)
        if best is None:
            return None
        _, passage_index, first_line, line_count = best
        return self.line_window(passage_index, first_line, first_line + line_count - 1, best_covered)

    def _term_weight(self, term: str) -> int:
        holding_count = self._line_counts[term]
        return round(1e6 * math.log(1 + (self._line_count - holding_count + 0.5) / (holding_count + 0.5)))
