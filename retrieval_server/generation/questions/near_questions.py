"""Which differences between two questions forbid that one's answer serves the other, however near their vectors are.

Embeddings put opposites beside each other: "how do I enable X" and "how do I disable X" differ by less than two
wordings of the same question. So the words decide first, and only what they let pass is compared by vectors.
"""

import re
from collections import Counter

_WORD = re.compile(r"\w+(?:['’]\w+)?(?:[.:/_-]+\w+)*")
_NEGATION_WORDS = """
    not no never none nothing nobody nowhere neither nor without cannot cant except unless lacks missing fails fail
"""
_OPPOSITE_PAIRS = """
    before/after first/last start/stop start/end begin/end open/close opened/closed add/remove added/removed
    insert/delete create/delete create/destroy increase/decrease increased/decreased raise/lower more/less most/least
    more/fewer max/min maximum/minimum upper/lower high/low higher/lower highest/lowest large/small larger/smaller
    largest/smallest long/short longer/shorter fast/slow faster/slower hot/cold new/old newer/older newest/oldest
    earlier/later earliest/latest true/false on/off yes/no allow/deny allow/forbid allowed/forbidden accept/reject
    accepted/rejected include/exclude included/excluded read/write reads/writes push/pull send/receive sends/receives
    client/server input/output import/export source/target source/sink from/to up/down left/right above/below
    inside/outside internal/external public/private local/remote sync/async success/failure succeed/fail pass/fail
    lock/unlock connect/disconnect enter/leave advantages/disadvantages required/optional always/never all/none
    any/none with/without same/different static/dynamic train/test training/testing lossy/lossless encode/decode
    encoder/decoder serialize/deserialize upload/download upgrade/downgrade ascending/descending parent/child
    row/column rows/columns horizontal/vertical
"""
_NEGATIONS = frozenset(_NEGATION_WORDS.split())
_OPPOSITES = frozenset(frozenset(pair.split("/")) for pair in _OPPOSITE_PAIRS.split())
_OPPOSING_PREFIXES = ("un", "in", "im", "non", "dis", "de", "anti", "ir", "il", "mis")
_SWAPPED_PREFIXES = (("en", "dis"), ("en", "de"), ("in", "out"), ("up", "down"), ("over", "under"), ("pre", "post"))


def may_share_an_answer(question: str, other: str) -> bool:
    """Return whether no word tells the two apart: no number, name, negation, opposite, or order of what they share."""
    ours, theirs = _words(question), _words(other)
    only_ours, only_theirs = Counter(ours) - Counter(theirs), Counter(theirs) - Counter(ours)
    differing = [*only_ours, *only_theirs]
    if any(_negates(word) or _is_a_name(word) for word in differing):
        return False
    if any(_are_opposites(one, another) for one in only_ours for another in only_theirs):
        return False
    shared = Counter(ours) & Counter(theirs)
    # "from a to b" and "from b to a" hold the same words.
    return [word for word in ours if word in shared] == [word for word in theirs if word in shared]


def is_negated(question: str) -> bool:
    """Return whether some word says "not"."""
    return any(map(_negates, _words(question)))


def _negates(word: str) -> bool:
    return word in _NEGATIONS or word.endswith("n't")


def _words(question: str) -> list[str]:
    return [word if _is_a_name(word) else word.lower().replace("’", "'") for word in _WORD.findall(question)]


def _is_a_name(word: str) -> bool:
    """Tell whether it is a number or an identifier: anything but a plain word."""
    return any(char.isdigit() for char in word) or bool(re.search(r"[._:/]|\w[A-Z]", word))


def _are_opposites(one: str, another: str) -> bool:
    if frozenset((one, another)) in _OPPOSITES:
        return True
    shorter, longer = sorted((one, another), key=len)
    if any(longer == prefix + shorter for prefix in _OPPOSING_PREFIXES):
        return True
    return any(
        {one, another} == {first + rest, second + rest}
        for first, second in _SWAPPED_PREFIXES
        for rest in (one.removeprefix(first), one.removeprefix(second))
        if rest != one
    )
