"""Text to index terms: one function for documents and for queries, so that both sides always agree.

The terms are joined with spaces and indexed through Tantivy's `whitespace` tokenizer, which adds nothing of its own.
"""

import re
import threading
import unicodedata

import Stemmer

ANALYSER_VERSION = 4

# What separates words in ASCII text becomes a space; a word is what `\w+` finds, in half of its time.
_ASCII_WORDS = "".join(char if char.isalnum() or char == "_" else " " for char in map(chr, range(128)))
# Emoji and other pictures are searched for, too; one picture is a term, also within a sequence.
_PICTURES = "\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff"
_WORD_OR_PICTURE = re.compile(f"\\w+|[{_PICTURES}]")
# Lower-to-upper ("fooBar"), acronym-to-word ("HTTPServer"), and letter-digit borders split an identifier; "_" does too.
# A plural acronym ("LLMs") is one part, and loses the "s" that Snowball leaves to words without vowels.
_PART = re.compile(r"[A-Z]{2,}s(?![^\W\d_])|[^\W\d_]?[^\W\d_A-Z]+|[A-Z]+(?![^\W\d_A-Z])|\d+|[^\W\d_]+")
_PLURAL_ACRONYM = re.compile(r"[A-Z]{2,}s")
_CJK_RANGES = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
CJK_RUN = re.compile(f"[{_CJK_RANGES}]+")
_HAS_CJK = re.compile(f"[{_CJK_RANGES}]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")

# Tantivy drops terms above 65,530 bytes; nobody searches for a blob longer than this by typing it.
MAX_TERM_CHARS = 128
# Hashes and encoded blobs alternate between letters and digits; their parts are noise, the whole is what is searched.
_MIN_BLOB_PARTS = 6
_MAX_BLOB_PART_CHARS = 2.5
_MAX_CACHED_WORDS = 400_000
_MAX_CACHED_PARTS = 100_000


class _StemCache(dict[str, str]):
    """Part of a word as written → its stem; a missing one is made and kept. Many words are made of few parts."""

    def __init__(self) -> None:
        super().__init__()
        self._stemmer = Stemmer.Stemmer("english")
        self._stemmer_lock = threading.Lock()

    def __missing__(self, part: str) -> str:
        if len(self) >= _MAX_CACHED_PARTS:
            self.clear()
        self[part] = stem = self._stem(part)
        return stem

    def _stem(self, part: str) -> str:
        if _PLURAL_ACRONYM.fullmatch(part):
            return part[:-1].casefold()
        with self._stemmer_lock:  # a Snowball stemmer keeps a buffer that threads must not share
            return str(self._stemmer.stemWord(part.casefold()))


class _WordCache(dict[str, str]):
    """Word as written → its terms joined with spaces; a missing word is analysed and kept.

    Source trees repeat few distinct words many times, so analysing is mostly this look-up.
    """

    def __init__(self) -> None:
        super().__init__()
        self._stems = _StemCache()

    def __missing__(self, word: str) -> str:
        has_cjk = not word.isascii() and _HAS_CJK.search(word)
        joined = " ".join(self._cjk_terms(word) if has_cjk else self._terms(word))
        if len(word) > MAX_TERM_CHARS or has_cjk:
            return joined  # blobs and whole sentences, which do not come again, and would take gigabytes
        if len(self) >= _MAX_CACHED_WORDS:
            self.clear()
        self[word] = joined
        return joined

    def _terms(self, word: str) -> list[str]:
        word = word[:MAX_TERM_CHARS]
        folded = word.casefold()
        parts = _PART.findall(word)
        if len(parts) <= 1:
            return [self._stems[parts[0] if parts else word]]
        whole = folded.strip("_")
        if len(parts) >= _MIN_BLOB_PARTS and len(whole) / len(parts) < _MAX_BLOB_PART_CHARS:
            return [whole]
        return [whole, *map(self._stems.__getitem__, parts)]

    def _cjk_terms(self, word: str) -> list[str]:
        """Split a word that holds CJK into bigrams and characters of each CJK run, and the words between.

        Bigrams tell best; characters let one that is asked for alone be found.
        """
        terms: list[str] = []
        position = 0
        for run in CJK_RUN.finditer(word):
            if word[position : run.start()]:
                terms.extend(self._terms(word[position : run.start()]))
            text = run.group()
            terms.extend(text[i : i + 2] for i in range(len(text) - 1))
            terms.extend(text)
            position = run.end()
        if word[position:]:
            terms.extend(self._terms(word[position:]))
        return terms


_words = _WordCache()


def identifier_parts(word: str) -> list[str]:
    """Return the parts of one word, case-folded and not stemmed: "HTTPServer_2" → http, server, 2."""
    return [part.casefold() for part in _PART.findall(word)]


def analyse(text: str) -> str:
    """Return the index terms of `text`, in order, joined with spaces.

    NFKC; case-folded; an identifier yields itself and its snake, camel and digit parts; English words are stemmed
    (Snowball); CJK yields bigrams and characters; a picture such as an emoji is a term. Lone surrogates, which no index
    can hold, separate words.
    """
    if text.isascii():
        return " ".join(map(_words.__getitem__, text.translate(_ASCII_WORDS).split()))
    text = unicodedata.normalize("NFKC", _SURROGATE.sub(" ", text))
    return " ".join(map(_words.__getitem__, _WORD_OR_PICTURE.findall(text)))


def analyse_terms(text: str) -> list[str]:
    """Return the index terms of `text`, in order and with repetitions."""
    return analyse(text).split()
