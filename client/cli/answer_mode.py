"""The option that says how an answer is made."""

import click

mode_option = click.option(
    "--mode",
    type=click.Choice(["stuff", "extractive", "rag_sequence", "rag_token"]),
    help="How to answer: all passages in one prompt; without a model; a candidate from each passage, the likeliest"
    " with all of them; or each word from all passages' prompts together.  [default: stuff]",
)
