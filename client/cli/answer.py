"""client answer: a cited answer, as it is made."""

from __future__ import annotations  # the library's names in signatures would load all of gRPC

import click

import client
from client.cli.answer_events import skipped_sentence, tell_events
from client.cli.answer_mode import mode_option
from client.cli.conversation_file import add_turn, read_conversation
from client.cli.invocation import Invocation, collection_option, shared_options


@click.command("answer", short_help="Answer one question, with sources.")
@click.argument("query")
@click.option("-k", "--k", type=int, help="How many passages to answer from.  [default: the server's, 10]")
@mode_option
@click.option(
    "--fallback",
    type=click.Choice(["extractive", "none"]),
    help="What to do when nothing can be generated.  [default: extractive, sentences of the passages]",
)
@click.option("--anyway", is_flag=True, help="Answer even when the corpus does not seem to hold the answer.")
@click.option("--closed-book", is_flag=True, help="Answer from what the model knows, to compare.")
@click.option("--keep", is_flag=True, help="Let the answer go on when this command is interrupted; see client attach.")
@click.option("--timeout", type=float, metavar="SECONDS", help="Longest time for the answer.  [default: 120]")
@click.option(
    "--history",
    metavar="FILE",
    help="A conversation: FILE says what was asked before, and this turn is added to it; made if it is missing.",
)
@click.option("--rewrite", is_flag=True, help='Search what is asked, without greetings and "could you tell me".')
@click.option(
    "--condense",
    type=click.Choice(["rule", "model"]),
    help="By what --history and --rewrite are made one question.  [default: the server's, rule]",
)
@click.option("--max-tokens", type=int, metavar="N", help="Most tokens to write.  [default: 256]")
@click.option("--temperature", type=float, metavar="T", help="Let chance have a say, 0 to 2.  [default: 0]")
@click.option(
    "--top-p", type=float, metavar="P", help="With --temperature: of the likeliest words alone, above 0 to 1."
)
@click.option("--seed", type=int, metavar="N", help="With --temperature: the same number, the same text.  [default: 0]")
@click.option(
    "--stop", "stops", multiple=True, metavar="TEXT", help="End the answer at this text; several may be given."
)
@click.option("--id", "request_id", metavar="ID", help="Name the answer for attach and cancel.  [default: made up]")
@collection_option
@shared_options
def answer_command(
    invocation: Invocation,
    query: str,
    k: int | None,
    *,
    mode: str | None,
    fallback: str | None,
    anyway: bool,
    closed_book: bool,
    keep: bool,
    timeout: float | None,
    history: str | None,
    rewrite: bool,
    condense: str | None,
    max_tokens: int | None,
    temperature: float | None,
    top_p: float | None,
    seed: int | None,
    stops: tuple[str, ...],
    request_id: str | None,
    collection: str,
) -> None:
    """Answer QUERY from the collection, with the places that back it.

    With --history a QUERY may leave out what was said before ("and its default?"); how it was understood is shown.
    """
    if timeout is not None and not 0 < timeout < float("inf"):
        raise click.BadParameter("must be above 0 and finite", param_hint="--timeout")
    options = client.AnswerOptions(
        mode=None if mode is None else client.AnswerMode(mode),
        fallback=None if fallback is None else client.AnswerFallback(fallback),
        on_disconnect=client.DisconnectPolicy.KEEP if keep else None,
        answer_anyway=anyway,
        closed_book=closed_book,
        timeout_s=timeout,
        rewrite_question=rewrite,
        condensing_method=None if condense is None else client.CondensingMethod(condense),
        max_completion_tokens=max_tokens,
        temperature=temperature,
        top_p=top_p,
        seed=seed,
        stops=stops,
    )
    turns = [] if history is None else read_conversation(history)
    with (
        invocation.connect() as server,
        server.stream_answer(
            query, k=k, collection=collection, options=options, request_id=request_id, history=turns
        ) as events,
    ):
        result = tell_events(events, query=query, as_json=invocation.as_json)
    if history is not None:
        answered = result.text if result.state is client.AnswerState.ANSWERED else skipped_sentence(result)
        add_turn(history, query, answered)
