"""English function words: in source code they are rare, so plain idf takes "what" and "should" for strong evidence."""

from retrieval_server.engine.words.analyser import analyse_terms

_WORDS = """
a about after all am an and any are as at be been before being between both but by can could did do does doing down
during each else few for from had has have having he her here his how i if in into is it its just many may me might
more most much must my no nor not now of off on only onto or other our out over own same shall she should so some such
than that the their them then there these they this those through to too under up very was we were what when where
which who whom whose why will with would you your
"""

STOP_WORDS = frozenset(_WORDS.split())
STOP_TERMS = frozenset(analyse_terms(_WORDS))
