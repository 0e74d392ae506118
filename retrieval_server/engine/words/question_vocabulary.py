"""The words that questions about software are made of: they say what is wanted to know, not of what.

"What is the default value of the timeout parameter?" is about a timeout. A passage need not hold "default", "value" or
"parameter" to answer it, and holding them tells nothing. The words are those of English and of any programming
language; none belongs to a subject.
"""

from retrieval_server.engine.words.analyser import analyse_terms
from retrieval_server.engine.words.stop_words import STOP_TERMS

_VERBS = """
accept access achieve activate add affect aim allocate allow apply assert assign assume avoid belong bind break bring
build bypass calculate call cause change check choose clean clear come compare compute configure connect consist
contain control convert copy create decide declare default define delete depend describe detect determine disable
discard display distinguish divide do drop emit enable encode ensure evaluate exclude execute exist expand expect
explain export expose extend fail fall fetch find finish fit fix follow force generate get give go guarantee handle
happen have help hold identify ignore implement imply import include increase indicate inherit initialise initialize
insert invoke keep know launch lead let limit list live load look lose maintain make manage map match mean meet merge
modify move need offer optimize override pass perform pick point prefer prevent process produce protect provide raise
reach read receive recommend reduce refer refuse register reject rely remain remove render replace represent require
reserve reset resolve respond restrict return reuse run save say see select send serve set show skip solve sort
specify split start stop store suggest support take tell throw track transform treat trigger try turn unload update
use validate verify wait want warn work wrap write yield
"""

# One word of each stem: forms of the others, and of the verbs, are covered.
_WORDS = """
above according across action actual advantage against almost along already always among another anybody anyone
anything appear approach argument around array aspect attribute automatically available away back base basis became
become began begin begun behavior behaviour behind below beneath benefit beside better beyond big body bool boolean
bound broke broken brought built came case category certain cheap chosen class code combination command common
component concept condition consequence consider constant constraint construct constructor content context contract
convention correct correspond criteria criterion current custom data deal definition description design despite detail
developer difference dimension directly directory distinction document done early easy effect either element end
enough entire entry environment error even event ever every everybody everyone everything exactly example except
explicitly expression extra fact fallen fast feature fell field file first five flag form format formula found four
framework full fully function gave general given goal gone got grew group grown hard held high hook huge idea
immediately index information input inside instance instead instruction integer interface internal invalid issue item
itself kept key kind knew known large last late later left length level library like line literal location logic long
longer lost low made main matter maximum meant mechanism member message met method mind minimum mode module multiple
name near necessary never new next nobody non-default normal nothing number object often old once one operation option
order original otherwise output outside package page parameter part particular past pattern per place possible precise
prefix present previously primarily primary principal problem procedure project property purpose put question quick
range rather really reason regarding related relationship relevant respective responsibility result right role rule
saw scenario scheme second section seem seen sent separately sequence several shape short shown side significance
similar simple simply since single situation size slow small somebody someone something source special specific spent
standard state statement stay step still stood straight strategy string structure style successfully suffix syntax
system taken task technique term test themselves therefore thing third thought three threw throughout thrown till time
tiny title together told took tool top total toward tuple two type understood unit unless until upon usage user usual
value variable variant various version via way well went whether while whole within without wonder word written wrote
yet
"""

VERBS = frozenset(_VERBS.split())
QUESTION_TERMS = STOP_TERMS | frozenset(analyse_terms(f"{_VERBS} {_WORDS}"))
"""Index terms, function words among them."""
