"""The closed classes of English that questions are made of; verbs and nouns are in `engine.question_vocabulary`."""

MODALS = frozenset(("can", "could", "should", "must", "will", "would", "may", "might"))
AUXILIARIES = MODALS | {"is", "are", "was", "were", "do", "does", "did", "has", "have"}
PRONOUNS = {"i": "you", "we": "you", "you": "you", "my": "your", "our": "your", "me": "you", "us": "you", "am": "are"}
"""Of whoever asks, with those of whoever answers."""

_IRREGULAR_PARTICIPLES = """
bound built chosen done found given held kept known left lost made meant met put read run seen sent
set shown split stored taken thrown written
"""

PARTICIPLES = frozenset(_IRREGULAR_PARTICIPLES.split())
