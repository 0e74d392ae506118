"""Rendering a chat template, bounded in time, memory and output."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

MAX_TEMPLATE_CHARS = 262_144
# Of a loaded machine's clock; the child's own limit is in seconds of CPU.
_TIMEOUT_S = 30.0
_MAX_REASON_CHARS = 200
_CHILD = Path(__file__).with_name("render_child.py")


class ChatTemplateError(Exception):
    """A chat template that cannot be used; the message is one line, to stand after the file's name."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """What came of one set of messages: a text, or None and why in one line."""

    text: str | None
    reason: str = ""


def render_template(template: str, cases: Sequence[Mapping[str, object]]) -> list[Rendered]:
    """Render a template once for each set of variables.

    Raises:
        ChatTemplateError: it is too long, never ends, or takes too much.
    """
    if len(template) > MAX_TEMPLATE_CHARS:
        raise ChatTemplateError(f"its chat template has more than {MAX_TEMPLATE_CHARS:,} characters")
    asked = json.dumps({"template": template, "cases": cases})
    try:
        # -P: what lies beside the child must not be taken for a library.
        child = subprocess.run(
            [sys.executable, "-P", str(_CHILD)],
            input=asked,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ChatTemplateError("its chat template does not come to an end") from None
    if child.returncode < 0:
        raise ChatTemplateError("its chat template does not come to an end, or takes too much memory")
    if child.returncode > 0:
        last = (child.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise ChatTemplateError(f"its chat template could not be rendered ({last[:_MAX_REASON_CHARS]})")
    return [
        Rendered(outcome.get("text"), " ".join(outcome.get("reason", "").split())[:_MAX_REASON_CHARS])
        for outcome in json.loads(child.stdout)
    ]
