"""Scripts without an ending that tells: their first line names what runs them."""

import re

_FIRST_LINE = re.compile(r"#![ \t]*(?:\S*/)?(?:env[ \t]+(?:(?:-|\w+=)\S*[ \t]+){0,8}(?:\S*/)?)?([A-Za-z]+)[\d.]*\s")
_LANGUAGE_BY_INTERPRETER = {
    **dict.fromkeys(("sh", "ash", "bash", "dash", "ksh", "zsh"), "shell"),
    **dict.fromkeys(("python", "pypy"), "python"),
    **dict.fromkeys(("node", "nodejs"), "javascript"),
    "lua": "lua",
    "perl": "perl",
    "php": "php",
    "pwsh": "powershell",
    "rscript": "r",
    "ruby": "ruby",
}


def script_language(text: str) -> str | None:
    """Return the language of a text that begins as a script does, None of any other."""
    first_line = _FIRST_LINE.match(text)
    return _LANGUAGE_BY_INTERPRETER.get(first_line[1].lower()) if first_line is not None else None
