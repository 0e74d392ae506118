"""Texts of a program in other languages than English: each says once more what the English ones say."""

import re

# Compared without "-" and "_". Not `lang` or `languages`, below which `ts` or `cs` may be a language to program in.
_FOLDERS = frozenset({"locale", "locales", "i18n", "l10n", "po", "translation", "translations", "nls"})
# "de", "pt-BR", "zh_Hant", "es-419", "sr@latin"; what is in English is what is asked for.
_TAG = re.compile(r"(?!en\b|en_)[a-z]{2}(?:[-_@][a-z0-9]+)*")
# Android's `values-de` and Apple's `de.lproj` name the language by themselves.
_FOLDER_OF_LANGUAGE = re.compile(
    r"values-(?!en\b)[a-z]{2}(?:-r[a-z]{2})?|(?!en\b|en_)[a-z]{2}(?:[-_][a-z0-9]+)*\.lproj"
)


def is_translation(path: str) -> bool:
    """Tell whether a document at `path`, in small letters, is a translation."""
    *folders, name = path.split("/")
    for at, folder in enumerate(folders):
        if _FOLDER_OF_LANGUAGE.fullmatch(folder):
            return True
        if folder.replace("-", "").replace("_", "") in _FOLDERS:
            below = (*folders[at + 1 :], name.split(".", 1)[0])
            return any(_TAG.fullmatch(part) for part in below)
    return False
