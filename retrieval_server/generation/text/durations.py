"""Whether an answer to "how long may it stay?" tells a time: a number of something else answers another question."""

import re

# "How long is the list?" and "how long can it be?" ask for a length.
_ASKS_DURATION = re.compile(
    r"\bhow long (?:may|can|could|do|does|did|will|would|should|must|has|have|had|before|after)\b(?!.*\bbe\s*\?)",
    re.IGNORECASE,
)
# A letter is a unit after a number alone: there is one in "the boat's berth", too.
_TELLS_DURATION = re.compile(
    r"\d\s*(?:[nµum]?s|h|d)(?![a-z])"
    r"|(?<![a-z])(?:secs?|(?:nano|micro|milli)?seconds?|mins?|minutes?|hrs?|hours?|days?|nights?|weeks?|months?|years?"
    r"|iterations?|steps?|epochs?|cycles?|turns?|rounds?)(?![a-z])"
    r"|\b(?:until|till|while|as long as|forever|indefinitely|always|never|once|before|after|when|soon|immediately)\b",
    re.IGNORECASE,
)


def misses_duration(question: str, answer: str) -> bool:
    """Tell whether `question` asks for how long something goes on and `answer` tells no time at all."""
    return bool(_ASKS_DURATION.search(question)) and not _TELLS_DURATION.search(answer)
