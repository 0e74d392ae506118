"""Function words of languages other than English: what questions in them are asked with, not what they are about.

Many are words of English or of code as well ("die", "comment", "le"), and an English question may be about those. So a
word counts as one of a language only in a question that shows to be in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

_MIN_TELLING_CHARS = 3


@dataclass(frozen=True, slots=True)
class _Language:
    """Words of a language, by what they show.

    The `certain` ones are of it wherever they stand. Of the `likely` ones, no English words, it takes two and a longer
    one among them ("es" and "en" are two locales), or one in a question that begins with one of `openings`. The
    `shared` ones show nothing.
    """

    certain: frozenset[str]
    likely: frozenset[str]
    openings: frozenset[str]
    shared: frozenset[str]

    @property
    def words(self) -> frozenset[str]:
        return self.certain | self.likely | self.openings | self.shared

    def is_shown_by(self, words: frozenset[str], first: str) -> bool:
        if not self.certain.isdisjoint(words):
            return True
        likely = words & self.likely
        if first in self.openings:
            return bool(likely)
        return len(likely) > 1 and any(len(word) >= _MIN_TELLING_CHARS for word in likely)


def _language(certain: str, likely: str = "", openings: str = "", shared: str = "") -> _Language:
    return _Language(*(frozenset(words.split()) for words in (certain, likely, openings, shared)))


# Capitals where a word is written with one within a sentence, and would seem a name.
_LANGUAGES = (
    _language(  # German
        """
        aber auf aus bei beim darf dass dieser diese dieses diesem diesen dürfen durch eine einem einen einer eines für
        gegen gibt haben kann kein keine können könnte lassen lässt muss müssen nach nicht oder ohne sich sind soll
        sollen sollte und unter vom wann warum welche welchem welchen welcher welches wenn werden weshalb wie wieso
        wird wodurch wofür woher wohin womit woran worin wurde wurden wozu zum zur zwischen
        """,
        "auch das dem der des ein es ich im ist mit noch nur um von vor wem wer wessen wir wo zu über",
        "",
        "als am an den die falls hat in man ob war waren was wen Ihnen Ihr Ihre Ihrem Ihren Sie",
    ),
    _language(  # French
        """
        avec avoir cela cette ces chez combien dans doit doivent est-ce faut laquelle lequel où peut peuvent pourquoi
        quand quel quelle quelles quels quoi seront sont sous une étaient était être
        """,
        "aux ce cet de des du elle elles en est et il ils la le les leur leurs que qui sa ses sur un vers y à",
        "comment",
        "a au dont entre fait font mais ne nous on ou par pas plus pour sans se si son vous",
    ),
    _language(  # Spanish
        """
        adónde cuales cuando cuanta cuantas cuanto cuantos cuál cuáles cuándo cuánta cuántas cuánto cuántos cómo debe
        deben desde donde dónde eran estos está están estoy hace hacen hasta pero porque pueden puedo puede qué quien
        quién quiénes sobre unas unos
        """,
        "al cual de el en es esta estas fue ha las los mis muy que se su sus un una y",
        "como",
        "con del entre era este han hay la lo me mi no o para por si sin son te yo",
    ),
    _language(  # Portuguese
        """
        aonde até devem deve estes está estão foi isso isto não onde pelas pelo pelos podem pode porquê posso quais
        quando quantos quem são têm uma umas às
        """,
        "ao aos da das de dos em esta estas eu há na nas pela qual quantas quanto que se sem seu seus sua tem um é",
        "como",
        "a as com do e entre era eram este faz fazem mas no nos o os ou para por quanta",
    ),
    _language(  # Italian
        """
        agli alla alle allo anche che cioè cos'è così dalla dalle degli della delle dello deve devono dov'è erano hanno
        nella nelle nello negli perché perche possono può quale quali quando quante quanti questa queste questi questo
        sugli sulla sulle viene vengono è
        """,
        "al dai dal dei di gli ha il la le lo mio nei nel qual quanto sono sui sul un una uno",
        "chi come cosa dove",
        "a ai con da del e era fa fra i in ma non o per quanta se si su tra",
    ),
    _language(  # Dutch
        """
        bij deze een geen heeft hoeveel kunnen mijn moeten naar niet ook uit voor waarin waarmee waarom waarvoor wanneer
        welk welke worden wordt zijn zonder zullen tussen
        """,
        "aan de er het ik je jij moet onder te wel werd wie wij zal",
        "hoe waar wat wiens",
        "als dat die dit door en in is kan maar mag men met of om op over tot van was we",
    ),
    _language(  # Polish
        """
        albo był była było były czego czemu czy czym dlaczego dokąd gdzie ile jaka jaki jakich jakie jakiego jakiej jak
        jest jeśli jeżeli kiedy kogo komu która które którego której który których mają może mogą można musi muszą
        należy nie oraz przez przy przed się skąd są trzeba że
        """,
        "dla na od tego tej tych w z ze",
        "co kto",
        "ale bez do i lub ma nad o po pod ta te ten to u we za",
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
_WORDS_OF = tuple((one, one.words) for one in _LANGUAGES)
_SHOWING = frozenset[str]().union(*(one.certain | one.likely for one in _LANGUAGES))


def function_words(words: Sequence[str]) -> frozenset[str]:
    """Return which words of a question are mere grammar, as written and case-folded; none of an English one."""
    # Words in capitals alone are acronyms.
    asked = [form for word in words if not (len(word) > 1 and word.isupper()) for form in (word, word.casefold())]
    if _SHOWING.isdisjoint(asked):
        return frozenset()
    distinct, first = frozenset(asked), asked[1]
    return frozenset[str]().union(*(distinct & own for one, own in _WORDS_OF if one.is_shown_by(distinct, first)))
