"""Synonyms and abbreviations of a collection: a table in TOML, checked, and what it adds to a query.

    [two_way]                                   # either side of an entry also asks for the other
    TP = "tensor parallelism"
    "KV cache" = ["key-value cache", "attention cache"]

    [one_way]                                   # the left also asks for the right, and not the other way
    GPU = ["CUDA device", "accelerator"]

Terms are compared as the index compares text: by their analysed words, in a row.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from itertools import islice

from retrieval_server.engine.lexical.bm25 import MAX_QUERY_TERMS, LexicalQuery, lexical_query
from retrieval_server.engine.words.analyser import analyse_terms
from retrieval_server.engine.words.stop_words import STOP_TERMS
from retrieval_server.errors import FieldError, InvalidRequest

MAX_GROUPS = 10_000
_MAX_TERM_CHARS = 200
_MAX_GROUP_TERMS = 64
_MAX_SHOWN_STEPS = 6
_TWO_WAY, _ONE_WAY = "two_way", "one_way"
_WORD = re.compile(r"\w+")

Key = tuple[str, ...]
"""A term as the index knows it: its analysed words."""


@dataclass(frozen=True, slots=True)
class SynonymGroup:
    """Terms that mean the same; with `expansions`, each term also asks for these, and not the other way."""

    terms: tuple[str, ...]
    expansions: tuple[str, ...] = ()


@dataclass(frozen=True)
class SynonymTable:
    """A checked table. Make it with `of_groups` or `of_toml`."""

    groups: tuple[SynonymGroup, ...] = ()

    @classmethod
    def of_groups(cls, groups: Iterable[SynonymGroup], field: str = "groups") -> "SynonymTable":
        """Return the table of these groups. Raises InvalidRequest naming the entry of `field` that is wrong."""
        table = cls(tuple(groups))
        if len(table.groups) > MAX_GROUPS:
            raise InvalidRequest(FieldError(field, f"{len(table.groups):,} entries, at most {MAX_GROUPS:,}"))
        for number, group in enumerate(table.groups):
            _check_group(group, f"{field}[{number}]")
        _check_cycles(table.groups, [f"{field}[{number}]" for number in range(len(table.groups))])
        return table

    @classmethod
    def of_toml(cls, text: str, field: str = "toml") -> "SynonymTable":
        """Return the table that a TOML text describes. Raises InvalidRequest naming the entry that is wrong."""
        try:
            tables = tomllib.loads(text)
        except (ValueError, RecursionError) as error:  # also for numbers of thousands of digits
            raise InvalidRequest(FieldError(field, f"is not TOML: {error}")) from None
        unknown = sorted(tables.keys() - {_TWO_WAY, _ONE_WAY})
        if unknown:
            raise InvalidRequest(
                FieldError(f"{field}.{unknown[0]}", f"only [{_TWO_WAY}] and [{_ONE_WAY}] have a meaning")
            )
        groups: list[SynonymGroup] = []
        names: list[str] = []
        for section in (_TWO_WAY, _ONE_WAY):
            for term, others in _entries(tables.get(section, {}), f"{field}.{section}"):
                names.append(f"{field}.{section}.{term}")
                groups.append(SynonymGroup((term,), others) if section == _ONE_WAY else SynonymGroup((term, *others)))
                _check_group(groups[-1], names[-1])
        if len(groups) > MAX_GROUPS:
            raise InvalidRequest(FieldError(field, f"{len(groups):,} entries, at most {MAX_GROUPS:,}"))
        _check_cycles(groups, names)
        return cls(tuple(groups))

    def expanded(self, query: str) -> LexicalQuery | None:
        """Return the query's terms and those of the synonyms that it mentions, or None when it mentions none.

        Together they are at most MAX_QUERY_TERMS: what is mentioned first goes first.
        """
        if not self.groups:
            return None
        terms = analyse_terms(query)
        words = frozenset(_WORD.findall(query))
        added: dict[str, None] = {}
        for start in range(len(terms)):
            for length in self._lengths_by_first_term.get(terms[start], ()):
                for surface, expansions in self._rules.get(tuple(terms[start : start + length]), ()):
                    # "IT" is a word in capitals only, "it" is none of the table's business.
                    if all(term in STOP_TERMS for term in terms[start : start + length]) and surface not in words:
                        continue
                    added.update(dict.fromkeys(term for key in expansions for term in key))
        weights = lexical_query(query).weight_by_term
        new = (term for term in added if term not in weights and term not in STOP_TERMS)
        expansion = dict.fromkeys(islice(new, max(0, MAX_QUERY_TERMS - len(weights))), 1.0)
        return LexicalQuery({**weights, **expansion}) if expansion else None

    @cached_property
    def _rules(self) -> Mapping[Key, Sequence[tuple[str, Sequence[Key]]]]:
        rules: dict[Key, list[tuple[str, Sequence[Key]]]] = {}
        for group in self.groups:
            keys = list(map(_key, group.terms))
            # A term that leads to itself as well adds nothing to a query that has it.
            expansions = list(map(_key, group.expansions)) or keys
            for term, key in zip(group.terms, keys, strict=True):
                rules.setdefault(key, []).append((term, expansions))
        return rules

    @cached_property
    def _lengths_by_first_term(self) -> Mapping[str, frozenset[int]]:
        lengths: dict[str, set[int]] = {}
        for key in self._rules:
            lengths.setdefault(key[0], set()).add(len(key))
        return {first: frozenset(found) for first, found in lengths.items()}


NO_SYNONYMS = SynonymTable()


def _key(term: str) -> Key:
    return tuple(analyse_terms(term))


def _entries(section: object, field: str) -> Iterable[tuple[str, tuple[str, ...]]]:
    if not isinstance(section, dict):
        raise InvalidRequest(FieldError(field, f"must be a table: [{field.rpartition('.')[2]}]"))
    for term, others in section.items():
        texts = [others] if isinstance(others, str) else others
        if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
            raise InvalidRequest(FieldError(f"{field}.{term}", "must be a text or a list of texts"))
        yield term, tuple(texts)


def _check_group(group: SynonymGroup, field: str) -> None:
    every = (*group.terms, *group.expansions)
    if len(every) < 2 or not group.terms:
        raise InvalidRequest(FieldError(field, "must have at least two terms"))
    if len(every) > _MAX_GROUP_TERMS:
        raise InvalidRequest(FieldError(field, f"{len(every)} terms, at most {_MAX_GROUP_TERMS}"))
    keys: dict[Key, str] = {}
    for term in every:
        if len(term) > _MAX_TERM_CHARS:
            raise InvalidRequest(FieldError(field, f"a term has {len(term):,} characters, at most {_MAX_TERM_CHARS}"))
        key = _key(term)
        if not key:
            raise InvalidRequest(FieldError(field, f"{term!r} holds no word"))
        if key in keys:
            raise InvalidRequest(FieldError(field, f"{term!r} and {keys[key]!r} are the same to the index"))
        keys[key] = term


def _check_cycles(groups: Sequence[SynonymGroup], names: Sequence[str]) -> None:
    """Refuse one-way entries that lead back to where they began: they say one-way and mean two-way."""
    same: dict[Key, Key] = {}  # term → another that means the same, up to one that stands for all of them

    def representative(key: Key) -> Key:
        while key in same:
            same[key] = same.get(same[key], same[key])
            key = same[key]
        return key

    for group in groups:
        if not group.expansions:
            first, *others = (representative(_key(term)) for term in group.terms)
            same.update((other, first) for other in others if other != first)
    follows: dict[Key, set[Key]] = {}
    surface_of: dict[Key, str] = {}
    entry_of_step: dict[tuple[Key, Key], str] = {}
    for group, name in zip(groups, names, strict=True):
        for term in group.terms if group.expansions else ():
            for expansion in group.expansions:
                step = representative(_key(term)), representative(_key(expansion))
                if step[0] == step[1]:
                    raise InvalidRequest(FieldError(name, f"{term!r} and {expansion!r} mean the same already"))
                follows.setdefault(step[0], set()).add(step[1])
                surface_of |= {step[0]: term, step[1]: expansion}
                entry_of_step[step] = name
    try:
        TopologicalSorter(follows).prepare()
    except CycleError as error:
        cycle: list[Key] = error.args[1]  # each is followed to by the next
        name = entry_of_step[cycle[1], cycle[0]]
        shown = [surface_of[key] for key in reversed(cycle)]
        path = " → ".join(shown if len(shown) <= _MAX_SHOWN_STEPS else (*shown[:_MAX_SHOWN_STEPS], "…", shown[-1]))
        raise InvalidRequest(FieldError(name, f"leads back to itself ({path}): make it two-way, or break it")) from None
