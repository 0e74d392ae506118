"""How many tokens are computed at once: the time that nobody can be heard in."""

MIN_STEP_TOKENS = 32
MAX_STEP_TOKENS = 512
_TARGET_S = 0.15
_PARAMETER_TOKENS_PER_CORE_S = 36e9
"""Parameters times tokens that a core computes in a second: measured, 135 M parameters and 270 tokens."""


def step_tokens(parameter_count: int, thread_count: int, slot_count: int) -> int:
    """Return the largest power of two that is computed in about 0.15 s; twice the slots at least.

    A step is how long a new job waits to begin and a cancelled one to go, and how long the tokens being written wait
    for a prompt's. Larger steps gain little: with 135 M parameters on 2 cores, 64 tokens at once are read within a
    tenth as fast as 256.
    """
    affordable = _TARGET_S * _PARAMETER_TOKENS_PER_CORE_S * thread_count / max(parameter_count, 1)
    size = MIN_STEP_TOKENS
    while size < MAX_STEP_TOKENS and (size * 2 <= affordable or size < 2 * slot_count):
        size *= 2
    return size
