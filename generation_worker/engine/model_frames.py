"""How a loaded model wants to be spoken to: by the chat template in its file."""

from typing import Any

import llama_cpp

from generation_worker.chat_template.frames import SpecialTexts, frames_of
from generation_worker.chat_template.rendering import ChatTemplateError
from groundwire.prompt import CHATML, ChatFrame, ChatFrames

_CHATML_START = b"<|im_start|>"


def model_frames(model: Any, vocab: Any) -> ChatFrames:
    """Return the frames of a model; one without a template gets ChatML when it has its tokens.

    Raises:
        ChatTemplateError: there is no template, or none that can be used.
    """
    template = llama_cpp.llama_model_chat_template(model, None)
    if not template:
        if not _is_one_token(vocab, _CHATML_START):
            raise ChatTemplateError("there is no chat template in it, and no ChatML tokens: is it a chat model?")
        return CHATML
    special = SpecialTexts(
        _text(vocab, llama_cpp.llama_vocab_bos(vocab)), _text(vocab, llama_cpp.llama_vocab_eos(vocab))
    )
    frames = frames_of(template.decode(errors="replace"), special)
    if not special.bos or not llama_cpp.llama_vocab_get_add_bos(vocab):
        return frames
    begun = {kind: _begun_with(special.bos, frame) for kind, frame in frames.of_kind.items()}
    return ChatFrames(begun, frames.turn_end)


def _begun_with(bos: str, frame: ChatFrame) -> ChatFrame:
    # Some templates write it, others leave it to the tokenizer; a second one would spoil the answers.
    return frame if frame.head.startswith(bos) else ChatFrame(bos + frame.head, frame.tail)


def _text(vocab: Any, token: int) -> str:
    if token == llama_cpp.LLAMA_TOKEN_NULL:
        return ""
    text: bytes = llama_cpp.llama_vocab_get_text(vocab, token)
    return text.decode(errors="replace")


def _is_one_token(vocab: Any, text: bytes) -> bool:
    tokens = (llama_cpp.llama_token * len(text))()
    return bool(llama_cpp.llama_tokenize(vocab, text, len(text), tokens, len(text), False, True) == 1)
