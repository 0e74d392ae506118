"""The closed classes of English that questions are made of, and the verbs that developers ask with."""

MODALS = frozenset(("can", "could", "should", "must", "will", "would", "may", "might"))
AUXILIARIES = MODALS | {"is", "are", "was", "were", "do", "does", "did", "has", "have"}
PRONOUNS = {"i": "you", "we": "you", "you": "you", "my": "your", "our": "your", "me": "you", "us": "you", "am": "are"}
"""Of whoever asks, with those of whoever answers."""

_VERBS = """
accept access achieve activate add affect aim allocate allow apply assert assign assume avoid belong
bind break bring build bypass calculate call cause change check choose clean clear come compare
compute configure connect consist contain control convert copy create decide declare default define
delete depend describe detect determine disable discard display distinguish divide do drop emit
enable encode ensure evaluate exclude execute exist expand expect explain export expose extend fail
fall fetch find finish fit fix follow force generate get give go guarantee handle happen have help
hold identify ignore implement imply import include increase indicate inherit initialise initialize
insert invoke keep know launch lead let limit list live load look lose maintain make manage map
match mean meet merge modify move need offer optimize override pass perform pick point prefer
prevent process produce protect provide raise reach read receive recommend reduce refer refuse
register reject rely remain remove render replace represent require reserve reset resolve respond
restrict return reuse run save say see select send serve set show skip solve sort specify split
start stop store suggest support take tell throw track transform treat trigger try turn unload
update use validate verify wait want warn work wrap write yield
"""

_IRREGULAR_PARTICIPLES = """
bound built chosen done found given held kept known left lost made meant met put read run seen sent
set shown split stored taken thrown written
"""

VERBS = frozenset(_VERBS.split())
PARTICIPLES = frozenset(_IRREGULAR_PARTICIPLES.split())
