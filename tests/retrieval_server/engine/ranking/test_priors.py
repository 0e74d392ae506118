"""Factors by kind of source."""

import pytest

from retrieval_server.engine.ranking.priors import source_priors
from retrieval_server.engine.words.analyser import analyse_terms

NOTHING = frozenset[str]()


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("src/scheduler.py", []),
        ("tests/scheduler.py", ["test_source"]),
        ("pkg/test_scheduler.py", ["test_source"]),
        ("pkg/scheduler_test.go", ["test_source"]),
        ("web/button.test.tsx", ["test_source"]),
        ("src/fs/file/tests.rs", ["test_source"]),
        ("docs/testing.md", []),
        ("src/latest_contest.py", []),
        ("pkg/third_party/pynvml.py", ["vendored"]),
        ("vendor/lib/tests/a.go", ["test_source", "vendored"]),
        ("3rdparty/zlib/inflate.c", ["vendored"]),
        ("build/_deps/googletest-src/src/gtest.cc", ["vendored"]),
        ("build/CMakeCache.txt", ["generated"]),
        ("build/CMakeFiles/3.31/CompilerId.c", ["generated"]),
        ("src/pkg.egg-info/PKG-INFO", ["generated"]),
        ("api/queue_pb2.py", ["generated"]),
        ("web/app.min.js", ["generated"]),
        ("web/dist/app.js", ["generated"]),
        ("web/app.mjs.map", ["generated"]),
        ("web/dist.js", []),
        ("maps/linker.map", []),
        ("src/configure.py", []),
        ("CHANGELOG.md", ["changelog"]),
        ("docs/source/changelog.rst", ["changelog"]),
        ("docs/releases/4.2.rst", ["changelog"]),
        ("news/models.py", []),
        ("src/locales/de.ts", ["translation"]),
        ("src/locales/zh-TW.cjs", ["translation"]),
        ("src/locales/en.ts", []),
        ("src/locales/en-GB.ts", []),
        ("src/locales/index.ts", []),
        ("app/locale/pt_BR/LC_MESSAGES/django.po", ["translation"]),
        ("po/fr.po", ["translation"]),
        ("_locales/sr-Latn/messages.json", ["translation"]),
        ("res/values-de/strings.xml", ["translation"]),
        ("res/values-land/dimens.xml", []),
        ("res/values-v21/styles.xml", []),
        ("App/zh-Hans.lproj/Main.strings", ["translation"]),
        ("App/en.lproj/Main.strings", []),
        ("res/values-pt-rBR/strings.xml", ["translation"]),
        ("res/values-en-rGB/strings.xml", []),
        ("nls/en_us.js", []),
        ("docs/it/index.md", []),
        ("languages/ts/parser.c", []),
    ],
)
def test_priors_by_path(path: str, names: list[str]):
    assert [prior.name for prior in source_priors(path, NOTHING)] == names


def test_tests_are_not_lowered_for_a_question_about_tests():
    assert source_priors("tests/test_a.py", frozenset({"test"})) == ()


def test_translations_are_not_lowered_for_a_question_about_them():
    assert source_priors("locales/de.ts", frozenset(analyse_terms("Where are translations kept?"))) == ()


def test_changelogs_are_not_lowered_for_a_question_about_versions():
    assert source_priors("CHANGES.rst", frozenset(analyse_terms("Since which version is it there?"))) == ()
    assert [prior.name for prior in source_priors("CHANGES.rst", frozenset(analyse_terms("Is it there?")))] == [
        "changelog"
    ]
