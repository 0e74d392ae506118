"""Renders a chat template in a process of its own: a template is a program, and may run or grow for ever.

Run by its path, alone, with JSON on standard input and on standard output; `rendering.py` is the other side.
"""

import datetime as dt
import json
import resource
import sys

from jinja2 import TemplateError, nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

CPU_S = 2
MEMORY_BYTES = 1 << 30
MAX_RENDERED_CHARS = 100_000


class GenerationMarks(Extension):
    """The tags that some templates put around what the model writes, for training: nothing when it is asked."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Parser) -> list[nodes.Node]:
        """Return what stands between the tags."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class Refusal(Exception):
    """The template said by itself that it cannot render these messages."""


def refuse(message: object = "") -> None:
    """Stand in for what templates call to refuse messages that they cannot show, a system turn for example."""
    raise Refusal(str(message))


def formatted_now(layout: str) -> str:
    """Return today's date as `strftime` writes it, which some templates tell the model."""
    return dt.datetime.now(tz=dt.UTC).strftime(layout)


def to_json(value: object, indent: int | None = None, **_: object) -> str:
    """Return JSON that is not escaped for HTML, as templates expect of their `tojson`."""
    return json.dumps(value, ensure_ascii=False, indent=indent)


def render(source: str, variables: dict[str, object]) -> str:
    """Return the text of a template; raises Refusal, TemplateError or whatever its code raises."""
    # As templates are written for: blocks leave no lines behind, and loops may be left early.
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols", GenerationMarks]
    )
    environment.filters["tojson"] = to_json
    environment.globals |= {"raise_exception": refuse, "strftime_now": formatted_now}
    pieces: list[str] = []
    char_count = 0
    for piece in environment.from_string(source).generate(**variables):
        char_count += len(piece)
        if char_count > MAX_RENDERED_CHARS:
            raise ValueError(f"it renders to more than {MAX_RENDERED_CHARS:,} characters")
        pieces.append(piece)
    text = "".join(pieces)
    text.encode()  # raises for half a surrogate pair, which no tokenizer takes
    return text


def outcome(source: str, variables: dict[str, object]) -> dict[str, str]:
    """Return the text, or why there is none."""
    try:
        return {"text": render(source, variables)}
    except TemplateError as error:
        line = getattr(error, "lineno", None)
        return {"reason": f"{error.message or type(error).__name__}{f' in line {line}' if line else ''}"}
    except MemoryError:
        return {"reason": "it takes too much memory"}
    except Refusal as refusal:
        return {"reason": f"it says: {refusal}"}
    except Exception as error:  # it is the template's code that raises here
        return {"reason": f"{type(error).__name__}: {error}"}


def main() -> None:
    """Render every case that is asked for."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S + 1))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    asked = json.load(sys.stdin)
    json.dump([outcome(asked["template"], variables) for variables in asked["cases"]], sys.stdout)


if __name__ == "__main__":
    main()
