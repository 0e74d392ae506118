"""Function words of languages other than English: what questions in them are asked with, not what they are about.

Many are words of English or of code as well ("die", "comment", "le"), and an English question may be about those. So a
word counts as one of a language only in a question that shows to be in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from retrieval_server.engine.words.stop_words import STOP_WORDS

_MIN_TELLING_CHARS = 3
_OWN_COUNT = 3
_MAX_ENGLISH_COUNT = 1


@dataclass(frozen=True, slots=True)
class _Language:
    """Words of a language, by what they show.

    The `certain` ones are of it wherever they stand, unless more are English. Of the `likely` ones, no English words,
    it takes two, or one among three of the language, or one to begin with among two, and a longer one among them ("es"
    and "en" are two locales); or one in a question that begins with one of `openings`. The `shared` ones, which are
    English as well or name things in code, show nothing by themselves.
    """

    certain: frozenset[str]
    likely: frozenset[str]
    openings: frozenset[str]
    shared: frozenset[str]

    @property
    def words(self) -> frozenset[str]:
        return self.certain | self.likely | self.openings | self.shared

    def is_shown_by(self, words: frozenset[str], first: str) -> bool:
        own = words & self.words
        its_alone = len(own - STOP_WORDS)
        english = (words & STOP_WORDS) - own
        telling_count = len(english - _KEYWORDS)
        if not self.certain.isdisjoint(own):
            return telling_count <= its_alone
        if telling_count > _MAX_ENGLISH_COUNT or len(english) >= its_alone:
            return False
        likely = own & self.likely
        if first in self.openings:
            return bool(likely) or its_alone >= _OWN_COUNT
        is_enough = len(likely) > 1 or len(own) >= _OWN_COUNT - (first in likely)
        return is_enough and any(len(word) >= _MIN_TELLING_CHARS for word in likely)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _language(certain: str, likely: str = "", openings: str = "", shared: str = "") -> _Language:
    return _Language(*map(_words, (certain, likely, openings, shared)))


# Capitals where a word is written with one within a sentence, and would seem a name.
_LANGUAGES = (
    _language(  # German
        """
        aber auf aus bei beim darf dass dieser diese dieses diesem diesen dürfen durch eine einem einen einer eines für
        gegen gibt haben kann kein keine können könnte lassen lässt muss müssen nach nicht oder ohne sich sind soll
        sollen sollte und unter vom wann warum welche welchem welchen welcher welches wenn werden weshalb wie wieso
        wird wodurch wofür woher wohin womit woran worin wurde wurden wozu zum zur zwischen
        """,
        "auch ein ich im ist noch nur vor wem wer wessen wir wo zu über",
        "",
        """
        als am an das dem den der des die es falls hat in man mit ob um von war waren was wen Ihnen Ihr Ihre Ihrem
        Ihren Sie
        """,
    ),
    _language(  # French
        """
        avec avoir cela cette combien dans doit doivent est-ce faut laquelle lequel où peut peuvent pourquoi
        quand quel quelle quelles quels quoi seront sont sous une étaient était être
        """,
        "ce cet de elle elles en est il ils la le les leur leurs que qui sur un vers à",
        "comment",
        """
        a au aux ces chez des dont du entre et fait font mais ne nous on ou par pas plus pour sa sans se ses si son
        vous y
        """,
    ),
    _language(  # Spanish
        """
        adónde cuales cuando cuanta cuantas cuanto cuantos cuál cuáles cuándo cuánta cuántas cuánto cuántos cómo debe
        deben desde donde dónde eran estos está están estoy hace hacen hasta pero porque pueden puedo puede qué quien
        quién quiénes sobre unas unos
        """,
        "cual de el en esta estas fue muy que sus un una",
        "como",
        "al con del entre era es este ha han hay la las lo los me mi mis no o para por se si sin son su te y yo",
    ),
    _language(  # Portuguese
        """
        aonde até devem deve estes está estão isto não onde pelas pelo pelos podem pode porquê posso quais
        quando quantos quem são têm umas às
        """,
        "ao aos da de em esta estas há pela qual quantas quanto que seu seus sua um é",
        "como",
        """
        a as com das do dos e entre era eram este eu faz fazem foi isso mas na nas no nos o os ou para por quanta se
        sem tem uma
        """,
    ),
    _language(  # Italian
        """
        agli alla alle allo anche cioè cos'è così dalla dalle degli della delle dello deve devono dov'è erano hanno
        nella nelle nello negli perché perche possono può quale quali quando quante quanti questa queste questi questo
        sugli sulla sulle viene vengono è
        """,
        "cosa gli il la le nei nel qual quanto sono sul un una",
        "chi come dove",
        "a ai al che con da dai dal dei del di e era fa fra ha i in lo ma mio non o per quanta se si su sui tra uno",
    ),
    _language(  # Dutch
        """
        bij deze een geen heeft hoeveel kunnen mijn moeten naar niet ook voor waarin waarmee waarom waarvoor wanneer
        welk welke worden wordt zijn zonder zullen tussen
        """,
        "aan de het jij moet onder wel werd wie wij zal",
        "hoe waar wat wiens",
        "als dat die dit door en er ik in is je kan maar mag men met of om op over te tot uit van was we",
    ),
    _language(  # Polish
        """
        albo był była było były czego czemu czy czym dlaczego dokąd gdzie ile jaka jaki jakich jakie jakiego jakiej jak
        jeśli jeżeli kiedy kogo komu która które którego której który których mają może mogą można musi muszą
        należy nie oraz przez przy przed się skąd są trzeba że
        """,
        "dla jest tego tej tych ze",
        "co kto",
        "ale bez do i lub ma na nad o od po pod ta te ten to u w we z za",
    ),
    _language(  # Russian, in letters that no other of these has
        """
        а без был была были было быть в во где для до должен должна должно должны его ее если есть её за зачем и
        из или их к как какая какие какого какое какой каком каких какую когда ко кого кому которая которое
        которой которого которую который которых которые кто куда ли между мне могут может можно могу мой моя мы
        на над надо не него ни но нужно о об он она они от откуда по под почему при про с сколько со такое то у
        чего чей чем через что чтобы эта эти это этого этой этот я
        """,
    ),
)
# No question in another language begins with one.
_ENGLISH_OPENINGS = _words("are can could did does how should what when where which who whom whose why would")
# English words that questions in any language are about.
_KEYWORDS = _words("and as do for from if in not of on or this with")
_WORDS_OF = tuple((one, one.words) for one in _LANGUAGES)
_SHOWING = frozenset[str]().union(*(one.certain | one.likely | one.openings for one in _LANGUAGES))


def function_words(words: Sequence[str]) -> frozenset[str]:
    """Return which words, out of all of a question, are mere grammar, as written and case-folded; none if English."""
    # Words in capitals alone are acronyms.
    asked = [form for word in words if not (len(word) > 1 and word.isupper()) for form in (word, word.casefold())]
    if _SHOWING.isdisjoint(asked):
        return frozenset()
    distinct, first = frozenset(asked), words[0].casefold()
    if first in _ENGLISH_OPENINGS & distinct:
        return frozenset()
    return frozenset[str]().union(*(distinct & own for one, own in _WORDS_OF if one.is_shown_by(distinct, first)))
