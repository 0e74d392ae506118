"""Showing the events of an answer: text as it comes, then sources, then what made it."""

from __future__ import annotations  # the library's names in signatures would load all of gRPC

import sys
from collections.abc import Iterable

import click

import client
from client.cli.output import note, print_json, printable, span

_NAME_OF_EVENT: dict[str, str] = {
    "AnswerRetrieved": "retrieved",
    "AnswerDelta": "delta",
    "AnswerRestarted": "restarted",
    "AnswerFinished": "finished",
}
REFUSAL_START = "I don't know: "
_SKIPPED_SENTENCES = {
    "no_passages": f"{REFUSAL_START}nothing in the collection matches the question.",
    "not_in_passages": f"{REFUSAL_START}what was found does not speak of it.",
    "low_relevance": f"{REFUSAL_START}what the collection holds covers too little of the question.",
}
DONT_KNOW = f"{REFUSAL_START}the collection does not seem to hold the answer."


def tell_events(
    events: Iterable[client.AnswerEvent], *, as_json: bool, query: str | None = None
) -> client.AnswerResult:
    """Print an answer as it comes and return it; fail when it ended without one.

    `query` is what was typed: if something else was searched and answered, that is shown, too.
    """
    told = _Told()
    result: client.AnswerResult | None = None
    for event in events:
        if as_json:
            fields = {name: getattr(event, name) for name in event.__dataclass_fields__}
            print_json({"event": _NAME_OF_EVENT[type(event).__name__], **fields})
        elif isinstance(event, client.AnswerRetrieved):
            note(f"id: {event.request_id}")  # before the text, for whoever interrupts it and attaches later
        elif isinstance(event, client.AnswerDelta):
            told.add(event.text)
        elif isinstance(event, client.AnswerRestarted):
            told.restart(event)
        if isinstance(event, client.AnswerFinished):
            result = event.result
    if result is None:
        raise click.ClickException("the answer ended without its last event")
    if not as_json:
        told.finish(result)
        _tell_question(result, query)
    if result.state not in (client.AnswerState.ANSWERED, client.AnswerState.SKIPPED):
        message = f": {result.error}" if result.error is not None else ""
        raise click.ClickException(f"no answer, it ended as {result.state.value}{message}")
    return result


def skipped_sentence(result: client.AnswerResult) -> str:
    """Return the honest sentence for a question that the corpus does not answer."""
    if result.missing_words:
        return f"{REFUSAL_START}nothing that was found mentions {printable(', '.join(result.missing_words))}."
    return _SKIPPED_SENTENCES.get(result.answer_skipped_reason.value, DONT_KNOW)


class _Told:
    """What stands on the screen of the current attempt."""

    def __init__(self) -> None:
        self._text = ""

    def add(self, text: str) -> None:
        self._text += text
        click.echo(printable(text), nl=False)
        sys.stdout.flush()

    def restart(self, event: client.AnswerRestarted) -> None:
        why = {
            "NO_WORKER": "its worker was lost",
            "GENERATION_FAILED": "it failed its check, or broke off",
        }.get(event.reason, event.reason.lower() or "no reason was given")
        self._end_line()
        click.echo(f"--- the answer starts anew, forget the text above (attempt {event.attempt}: {why}) ---")
        self._text = ""

    def finish(self, result: client.AnswerResult) -> None:
        self._end_line()
        if result.state is client.AnswerState.SKIPPED:
            click.echo(skipped_sentence(result))
        elif result.state is client.AnswerState.ANSWERED:
            if result.text.strip() != self._text.strip():
                if self._text:
                    click.echo("--- the answer as it was accepted ---")
                click.echo(printable(result.text))
            _tell_sources(result)
        _tell_generator(result)

    def _end_line(self) -> None:
        if self._text and not self._text.endswith("\n"):
            click.echo()


def _tell_sources(result: client.AnswerResult) -> None:
    click.echo()
    places = [span(one.path, one.start_line, one.end_line) for one in result.citations]
    for place in dict.fromkeys(places):
        click.echo(f"Source: {place}")
    if not places:
        click.echo("Source: none; no sentence could be tied to a passage")
    for sentence in result.sentences:
        if not sentence.supported:
            text = printable(result.text[sentence.start_char : sentence.end_char]).strip()
            click.echo(f"Not backed by the sources: {text}")


def _tell_question(result: client.AnswerResult, query: str | None) -> None:
    how = result.condensing
    maker = f" (by {printable(how.model)})" if how.method is client.CondensingMethod.MODEL else ""
    if result.standalone_question and query is not None and result.standalone_question != query.strip():
        click.echo(f"Understood as: {printable(result.standalone_question)}{maker}")
    if how.fallback_reason:
        click.echo(f"Understood by rule, since {how.fallback_reason}: {printable(how.fallback_message)}")


def _tell_generator(result: client.AnswerResult) -> None:
    made = result.generator
    if made.model:
        tokens = f", {made.prompt_tokens:,} + {made.completion_tokens:,} tokens" if made.prompt_tokens else ""
        why = f", since {made.fallback_reason}" if made.fallback_reason else ""
        dropped = len(made.dropped_passage_indexes)
        left_out = f"; {dropped} of {len(result.passages)} passages were left out" if dropped else ""
        maker = "no model" if made.mode is client.AnswerMode.EXTRACTIVE else printable(made.model)
        runs_on = f", {printable(made.backend)}" if made.backend else ""
        click.echo(f"Made by {maker} (mode {made.mode.value}{runs_on}{why}{tokens}){left_out}")
    weighed = [
        f"{printable(packed.path)} {one.posterior:.0%} (by its rank {one.prior:.0%})"
        for one in made.passage_weights
        for packed in result.packed_passages[one.packed_index : one.packed_index + 1]
    ]
    if weighed:
        click.echo(f"Written from: {', '.join(weighed)}")
