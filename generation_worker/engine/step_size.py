"""How many tokens are computed at once: the time that nobody can be heard in."""

MIN_STEP_TOKENS = 32
MAX_STEP_TOKENS = 512
_TARGET_S = 0.15
_LONE_FACTOR = 4
_PARAMETER_TOKENS_PER_CORE_S = 36e9
"""Parameters times tokens that a core computes in a second: measured, 135 M parameters and 270 tokens."""


def step_tokens(parameter_count: int, thread_count: int, slot_count: int) -> int:
    """Return the largest power of two that is computed in about 0.15 s; twice the slots at least.

    A step is how long a new job waits to begin, and how long the tokens being written wait for a prompt's.
    """
    affordable = _TARGET_S * _PARAMETER_TOKENS_PER_CORE_S * thread_count / max(parameter_count, 1)
    size = MIN_STEP_TOKENS
    while size < MAX_STEP_TOKENS and (size * 2 <= affordable or size < 2 * slot_count):
        size *= 2
    return size


def lone_step_tokens(shared_step_tokens: int) -> int:
    """Return how many tokens a prompt is read by while nobody else is there to wait for it.

    With 135 M parameters on 2 cores, a prompt of 2,000 tokens is read a sixth faster by 256 than by 64.
    """
    return min(shared_step_tokens * _LONE_FACTOR, MAX_STEP_TOKENS)
