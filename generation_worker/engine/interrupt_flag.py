"""Interrupting llama.cpp in the middle of a batch, from another thread."""

import ctypes
from typing import Any

import llama_cpp


def interrupt_flag(context: Any) -> ctypes.Array[ctypes.c_char]:
    """Return a string; while it is not empty, llama.cpp gives up what it computes. It must live as long as `context`.

    llama.cpp asks a C function hundreds of times in each batch. One in Python would take the interpreter's lock every
    time and wait for whatever the event loop is doing; `strlen` says as well whether a string is empty.
    """
    flag = ctypes.create_string_buffer(2)
    is_set = ctypes.cast(ctypes.CDLL(None).strlen, llama_cpp.ggml_abort_callback)
    llama_cpp.llama_set_abort_callback(context, is_set, ctypes.cast(flag, ctypes.c_void_p))
    return flag
