"""What a set of answers is worth: likeness to references, citations against gold spans, honesty.

An answerable question is one with a reference answer or a gold source; any other one must be refused. A question that
was refused, or is missing, counts as 0 wherever an answer would have counted. Citations, verdicts and makers are known
of results that `client answer-dataset --details` wrote.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from client.cli.answer_events import REFUSAL_START
from client.cli.answer_scores import mean_interval, new_words_f1, rouge_l, token_f1
from client.cli.dataset_file import Question, Source, parse_source
from client.cli.recall import same_file
from groundwire.recall import wilson_interval

# A citation of whole lines may reach a little over the end of a gold span.
MIN_SHARE_IN_GOLD = 0.5


@dataclass(frozen=True, slots=True)
class Figure:
    """A mean or a share over `count` items, with its 95 % interval."""

    value: float
    low: float
    high: float
    count: int


@dataclass(frozen=True, slots=True)
class _Answer:
    """One result: the text is empty when the question was refused or failed."""

    text: str
    refused: bool
    citations: tuple[Source, ...] = ()
    verdicts: tuple[bool, ...] = ()
    mode: str = ""


@dataclass
class AnswerReport:
    """Takes results one by one; `figures` names what came out, in the order in which it is shown."""

    _scores: dict[str, list[float]] = field(default_factory=dict)

    def add(self, question: Question, result: Mapping[str, object] | None) -> None:
        """Take one question of the dataset with its result; None when there is none.

        Raises ValueError with what is wrong with the result.
        """
        answer = _answer(result or {})
        reference = question.item.get("answer")
        if not question.sources and not isinstance(reference, str):
            self._note("refused_of_unanswerable", answer.refused)
            kind = question.item.get("kind")
            if isinstance(kind, str):
                self._note(f"refused_of_{kind}", answer.refused)
            return
        self._note("refused_of_answerable", answer.refused)
        if isinstance(reference, str):
            self._note("token_f1", token_f1(answer.text, reference) if answer.text else 0.0)
            new_words = new_words_f1(answer.text, reference, question.question)
            if new_words is not None:
                self._note("new_words_f1", new_words)
            self._note("rouge_l", rouge_l(answer.text, reference) if answer.text else 0.0)
        if not answer.text:
            return
        if answer.mode:
            self._note("not_extractive", answer.mode != "extractive")
        for supported in answer.verdicts:
            self._note("unsupported_sentences", not supported)
        if question.sources and answer.mode:
            right = [_is_right(citation, question.sources) for citation in answer.citations]
            for one in right:
                self._note("citation_precision", one)
            self._note("citation_recall", any(right))

    def figures(self) -> dict[str, Figure]:
        """Return each figure that the results allow."""
        names = [name for name in _ORDER if name in self._scores]
        names += sorted(name for name in self._scores if name not in _ORDER)
        return {name: self._figure(name) for name in names}

    def _figure(self, name: str) -> Figure:
        values = self._scores[name]
        if name in _MEANS:
            return Figure(*mean_interval(values), len(values))
        return Figure(sum(values) / len(values), *wilson_interval(int(sum(values)), len(values)), len(values))

    def _note(self, name: str, value: float) -> None:
        self._scores.setdefault(name, []).append(float(value))


_MEANS = ("token_f1", "new_words_f1", "rouge_l")
_ORDER = (
    *_MEANS,
    "citation_precision",
    "citation_recall",
    "unsupported_sentences",
    "not_extractive",
    "refused_of_answerable",
    "refused_of_unanswerable",
)


def _answer(result: Mapping[str, object]) -> _Answer:
    text = result.get("answer", "")
    if not isinstance(text, str):
        raise ValueError("answer: must be a text")  # noqa: TRY004 - bad input, reported as such
    refused = text.startswith(REFUSAL_START)
    details = result.get("details")
    if not isinstance(details, dict):
        return _Answer("" if refused else text.strip(), refused)
    try:
        return _Answer(
            "" if refused else text.strip(),
            refused,
            tuple(map(parse_source, details["citations"])),
            tuple(bool(sentence["supported"]) for sentence in details["sentences"]),
            str(details["mode"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"details: {error}") from None


def _is_right(citation: Source, gold: Sequence[Source]) -> bool:
    """Tell whether at least half of a citation lies in one gold span."""
    length = citation.last_character_index - citation.first_character_index
    for span in gold:
        first = max(citation.first_character_index, span.first_character_index)
        last = min(citation.last_character_index, span.last_character_index)
        if (
            last > first
            and last - first >= MIN_SHARE_IN_GOLD * length
            and same_file(citation.file_path, span.file_path)
        ):
            return True
    return False
