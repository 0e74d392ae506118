"""From a chat template to frames: it is rendered around a mark, and what stands before and after that is the scaffold.

The template never sees a passage or a question, so that nothing in them can change what it makes, however it is
written; and it runs at the start alone, so that no job waits for it or fails by it.
"""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass

from generation_worker.chat_template.rendering import ChatTemplateError, Rendered, render_template
from groundwire.prompt import ChatFrame, ChatFrames, PromptKind, Wording, wording

_THINK_OPEN, _THINK_CLOSE = "<think>", "</think>"
_MIN_TURN_END_CHARS, _MAX_TURN_END_CHARS = 3, 64


@dataclass(frozen=True, slots=True)
class SpecialTexts:
    """What a template may ask for: the texts of the tokens that begin and end a text, "" for those there are not."""

    bos: str = ""
    eos: str = ""


def frames_of(template: str, special: SpecialTexts) -> ChatFrames:
    """Return what a template puts around a prompt's content, thinking switched off where it knows of that.

    A template that has no system turn gets our instruction at the beginning of the user's.

    Raises:
        ChatTemplateError: it is broken, never ends, or does not show the messages that it is given.
    """
    # Letters and digits: nothing that a template would trim or escape, and in no template.
    mark, reply = f"content{secrets.token_hex(8)}", f"reply{secrets.token_hex(8)}"
    wordings = {kind: wording(kind) for kind in PromptKind}
    cases = [case for words in wordings.values() for case in _cases(words, mark, reply, special)]
    rendered = iter(render_template(template, cases))
    frames: dict[PromptKind, ChatFrame] = {}
    turn_end = ""
    for kind, words in wordings.items():
        system, user, system_replied, user_replied = (next(rendered) for _ in range(4))
        knows_system = system.text is not None and words.instruction in system.text
        frames[kind] = _frame(system if knows_system else user, mark, words)
        turn_end = _turn_end(system_replied if knows_system else user_replied, reply)
    return ChatFrames(frames, turn_end)


def _cases(words: Wording, mark: str, reply: str, special: SpecialTexts) -> Iterator[dict[str, object]]:
    """Yield the messages with a system turn and without one, then both once more with a reply."""
    user = f"{mark}\n{words.reminder}"
    conversations = (
        [_turn("system", words.instruction), _turn("user", user)],
        [_turn("user", f"{words.instruction}\n\n{user}")],
    )
    for turns in conversations:
        yield _variables(turns, special)
    for turns in conversations:
        yield _variables([*turns, _turn("assistant", reply)], special, is_reply=True)


def _turn(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def _variables(turns: list[dict[str, str]], special: SpecialTexts, *, is_reply: bool = False) -> dict[str, object]:
    return {
        "messages": turns,
        "add_generation_prompt": not is_reply,
        "enable_thinking": False,
        "bos_token": special.bos,
        "eos_token": special.eos,
        "tools": None,
        "documents": None,
    }


def _frame(rendered: Rendered, mark: str, words: Wording) -> ChatFrame:
    if rendered.text is None:
        raise ChatTemplateError(f"its chat template cannot show a question ({rendered.reason})")
    head, *tails = rendered.text.split(mark)
    if len(tails) != 1 or words.instruction not in head or words.reminder not in tails[0]:
        raise ChatTemplateError("its chat template does not show each message once, as it is")
    [tail] = tails
    if tail.rfind(_THINK_OPEN) > tail.rfind(_THINK_CLOSE):
        # A template that begins the model's thoughts for it: they are over at once.
        tail = f"{tail.rstrip()}\n\n{_THINK_CLOSE}\n\n"
    return ChatFrame(head, tail)


def _turn_end(rendered: Rendered, reply: str) -> str:
    """Return what follows a whole answer, if the template can show one and it is as long as a mark is."""
    if rendered.text is None or rendered.text.count(reply) != 1:
        return ""
    end = rendered.text.split(reply)[1].strip()
    return end if _MIN_TURN_END_CHARS <= len(end) <= _MAX_TURN_END_CHARS else ""
