"""Reading question sets and result files; one bad item is named and never ends the rest."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import click

_SHOWN_ID_CHARS = 80
# What the contract's int32 takes.
_MAX_NUMBER = 2**31 - 1


class _Ambiguous(dict[str, object]):
    """A JSON object that has a key twice, so that nobody knows which value is meant."""

    key = ""


@dataclass(frozen=True, slots=True)
class Source:
    """A place of the corpus: offsets are code points, the end is exclusive."""

    file_path: str
    first_character_index: int
    last_character_index: int


@dataclass(frozen=True, slots=True)
class Question:
    """One item, in the order of the file. `problem` says why it cannot be asked, empty when it can.

    `item` is the item as it stands in the file, for what only some commands read.
    """

    item_number: int
    question_id: str
    question: str
    sources: tuple[Source, ...] = ()
    problem: str = ""
    item: Mapping[str, object] = field(default_factory=dict, repr=False)

    @property
    def label(self) -> str:
        """The item's name in messages."""
        clipped = len(self.question_id) > _SHOWN_ID_CHARS
        shown = f"{self.question_id[:_SHOWN_ID_CHARS]}…" if clipped else self.question_id
        return f"item {self.item_number} (question_id {shown!r})"


@dataclass(frozen=True, slots=True)
class QuestionFile:
    """A dataset or a results file: its items, the sha256 of its bytes, and the k that it was made with, if it says."""

    path: Path
    sha256: str
    questions: tuple[Question, ...]
    k: int | None


def read_dataset(path: str) -> QuestionFile:
    """Read `{"rag_questions": […]}`; raises ClickException with the reason in one line."""
    return _read(path, "rag_questions", "sources")


def read_results(path: str) -> QuestionFile:
    """Read `{"search_results": […], "k": N}`, with or without answers."""
    return _read(path, "search_results", "retrieved_sources")


def read_either(path: str) -> QuestionFile:
    """Read a dataset or a results file, whichever it is."""
    content, loaded = _load(path)
    list_key, sources_key = (
        ("search_results", "retrieved_sources") if "search_results" in loaded else ("rag_questions", "sources")
    )
    return _parse(path, content, loaded, list_key, sources_key)


def _read(path: str, list_key: str, sources_key: str) -> QuestionFile:
    content, loaded = _load(path)
    return _parse(path, content, loaded, list_key, sources_key)


def _load(path: str) -> tuple[bytes, dict[str, object]]:
    try:
        if not Path(path).is_file():  # a FIFO would block for ever
            raise click.ClickException(f"{path}: is not a file" if Path(path).exists() else f"{path}: does not exist")
        content = Path(path).read_bytes()
        loaded = json.loads(content.decode("utf-8-sig"), object_pairs_hook=_object)
    except OSError as error:
        raise click.ClickException(f"{path}: cannot be read: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError as error:
        raise click.ClickException(f"{path}: is not UTF-8 (byte {error.start})") from None
    except (ValueError, RecursionError) as error:
        raise click.ClickException(f"{path}: is not JSON: {error}") from None
    if not isinstance(loaded, dict):
        raise click.ClickException(f"{path}: holds no JSON object")
    if isinstance(loaded, _Ambiguous):
        raise click.ClickException(f"{path}: has {loaded.key!r} twice")
    return content, loaded


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made = dict(pairs)
    if len(made) == len(pairs):
        return made
    ambiguous, seen = _Ambiguous(made), set[str]()
    for key, _ in pairs:
        if key in seen:
            ambiguous.key = key
        seen.add(key)
    return ambiguous


def _parse(path: str, content: bytes, loaded: dict[str, object], list_key: str, sources_key: str) -> QuestionFile:
    items = loaded.get(list_key)
    if not isinstance(items, list):
        raise click.ClickException(f"{path}: {list_key}: must be a list of questions")
    k = loaded.get("k")
    if k is not None and (type(k) is not int or not 1 <= k <= _MAX_NUMBER):
        raise click.ClickException(f"{path}: k: must be a number from 1 to {_MAX_NUMBER:,}")
    first_item_of_id: dict[str, int] = {}
    questions = []
    for number, item in enumerate(items, 1):
        question = _question(number, item, sources_key)
        first = first_item_of_id.setdefault(question.question_id, number)
        if first != number and not question.problem:
            question = Question(
                number,
                question.question_id,
                question.question,
                question.sources,
                f"question_id: the same as that of item {first}",
            )
        questions.append(question)
    return QuestionFile(Path(path), hashlib.sha256(content).hexdigest(), tuple(questions), k)


def _question(number: int, item: object, sources_key: str) -> Question:
    if not isinstance(item, dict):
        return Question(number, "", "", problem="is not an object")
    if isinstance(item, _Ambiguous):
        return Question(number, "", "", problem=f"has {item.key!r} twice")
    question_id, text = item.get("question_id"), item.get("question")
    shown_id, shown_text = question_id if isinstance(question_id, str) else "", text if isinstance(text, str) else ""
    if not shown_id:
        return Question(number, shown_id, shown_text, problem="question_id: must be a text that is not empty")
    if not shown_text.strip():
        return Question(number, shown_id, shown_text, problem="question: must be a text that is not blank")
    try:
        sources = _sources(item.get(sources_key))
    except (TypeError, ValueError) as error:
        return Question(number, shown_id, shown_text, problem=f"{sources_key}: {error}")
    return Question(number, shown_id, shown_text, sources, item=item)


def _sources(items: object) -> tuple[Source, ...]:
    if not items:
        return ()
    if not isinstance(items, list):
        raise TypeError("must be a list of objects")
    return tuple(map(parse_source, items))


def parse_source(item: object) -> Source:
    """Return the source that a JSON value stands for; raises TypeError or ValueError with what is wrong with it."""
    if not isinstance(item, dict):
        raise TypeError("must be a list of objects")
    if isinstance(item, _Ambiguous):
        raise ValueError(f"has {item.key!r} twice")  # noqa: TRY004 - bad input, reported as such
    path, first, last = (item.get(name) for name in ("file_path", "first_character_index", "last_character_index"))
    if not isinstance(path, str) or not path:
        raise ValueError("file_path must be a text that is not empty")
    if type(first) is not int or type(last) is not int or not 0 <= first <= last <= _MAX_NUMBER:
        raise ValueError(
            f"first_character_index and last_character_index must be numbers, 0 ≤ first ≤ last ≤ {_MAX_NUMBER:,}"
        )
    return Source(path, first, last)
