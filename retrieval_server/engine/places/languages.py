"""Language and kind of a document, by its name."""

from functools import lru_cache
from itertools import islice
from pathlib import PurePosixPath

from retrieval_server.engine.words.analyser import CJK_RUN
from retrieval_server.model import ContentKind

_CODE = {
    "python": ".py .pyi .pyx .pxd .pxi",
    "c": ".c .h",
    "cpp": ".cc .cpp .cxx .hh .hpp .hxx .inl .ipp .tcc .tpp",
    "cuda": ".cu .cuh",
    "javascript": ".js .jsx .mjs .cjs",
    "typescript": ".ts .tsx .mts .cts",
    "go": ".go",
    "rust": ".rs",
    "java": ".java",
    "kotlin": ".kt .kts",
    "csharp": ".cs",
    "ruby": ".rb .rake .gemspec",
    "php": ".php",
    "swift": ".swift",
    "scala": ".scala",
    "shell": ".sh .bash .zsh .ksh .bats",
    "powershell": ".ps1",
    "sql": ".sql",
    "lua": ".lua",
    "perl": ".pl .pm .perl",
    "r": ".r",
    "haskell": ".hs",
    "elixir": ".ex .exs",
    "erlang": ".erl",
    "protobuf": ".proto",
    "cmake": ".cmake",
    "template": ".jinja .j2 .tpl",
    "css": ".css .scss .sass .less",
    "assembly": ".s .asm",
    "batch": ".bat .cmd",
    "clojure": ".clj .cljs .cljc",
    "dart": ".dart",
    "fortran": ".f .for .f90 .f95",
    "fsharp": ".fs .fsi .fsx",
    "graphql": ".graphql .gql",
    "groovy": ".groovy .gradle",
    "julia": ".jl",
    "m4": ".m4 .ac",
    "nim": ".nim",
    "ocaml": ".ml .mli",
    "shader": ".glsl .hlsl .wgsl .metal",
    "starlark": ".bzl .bazel .star",
    "svelte": ".svelte",
    "tcl": ".tcl",
    "terraform": ".tf .hcl",
    "thrift": ".thrift",
    "vue": ".vue",
    "zig": ".zig",
}
_DOCS = {
    "markdown": ".md .markdown .mdx .qmd .rmd",
    "restructuredtext": ".rst",
    "text": ".txt .text .adoc .org .tex",
    "html": ".html .htm .xhtml",
    "notebook": ".ipynb",
    "pdf": ".pdf",
}
_DATA = {
    "json": ".json .jsonc .json5 .geojson",
    "jsonl": ".jsonl .ndjson",
    "yaml": ".yaml .yml",
    "toml": ".toml",
    "xml": ".xml .svg",
    "ini": ".ini .cfg .conf .properties .env",
    "csv": ".csv .tsv",
    "lock": ".lock",
    "patch": ".patch .diff",
    "gettext": ".po .pot",
    "sourcemap": ".map",
}
_BY_NAME = {
    "makefile": ("make", ContentKind.CODE),
    "dockerfile": ("dockerfile", ContentKind.CODE),
    "cmakelists.txt": ("cmake", ContentKind.CODE),
    "jenkinsfile": ("groovy", ContentKind.CODE),
    "requirements.txt": ("text", ContentKind.DATA),
}
# A line of prose has at least so many words, and prose has at least such a share of these lines.
_SENTENCE_WORDS = 4
_PROSE_SHARE = 0.3
_JUDGED_LINES = 500
_BY_SUFFIX = {
    suffix: (language, kind)
    for table, kind in ((_CODE, ContentKind.CODE), (_DOCS, ContentKind.DOCS), (_DATA, ContentKind.DATA))
    for language, suffixes in table.items()
    for suffix in suffixes.split()
}
# It is asked for each chunk of a document, and for each document by turns.
_REMEMBERED_PATHS = 1024
KNOWN_LANGUAGES = frozenset(language for language, _ in (*_BY_SUFFIX.values(), *_BY_NAME.values()))
"""Every language that a document can have by its name."""


@lru_cache(maxsize=_REMEMBERED_PATHS)
def language_of(path: str) -> tuple[str, ContentKind]:
    """Return (language, kind) of the document at `path`; what is not known is text, and prose."""
    name = PurePosixPath(path).name.lower()
    found = _BY_NAME.get(name) or _BY_SUFFIX.get(PurePosixPath(name).suffix or name)
    if found is None and name.startswith(("dockerfile", "makefile")):
        found = _BY_NAME[name[:10] if name.startswith("dockerfile") else "makefile"]
    return found or ("text", ContentKind.DOCS)


def is_prose(text: str) -> bool:
    """Tell whether plain text reads as sentences: lists of paths, pins and words are data, whatever their ending."""
    lines = list(islice((line for line in text.splitlines() if line.strip()), _JUDGED_LINES))
    worded = sum(1 for line in lines if _word_count(line) >= _SENTENCE_WORDS)
    return worded >= len(lines) * _PROSE_SHARE


def _word_count(line: str) -> int:
    """Chinese and Japanese have no spaces, and words of about two characters."""
    unspaced = sum(len(run) for run in CJK_RUN.findall(line))
    return len(line.split()) + unspaced // 2
