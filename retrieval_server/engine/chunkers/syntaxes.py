"""The languages of source code that are cut by definition; others are cut by paragraph."""

from retrieval_server.engine.chunkers.c_family import CPP, CUDA, C
from retrieval_server.engine.chunkers.go import GO
from retrieval_server.engine.chunkers.java import JAVA
from retrieval_server.engine.chunkers.javascript import JAVASCRIPT, TYPESCRIPT
from retrieval_server.engine.chunkers.python import PYTHON
from retrieval_server.engine.chunkers.rust import RUST
from retrieval_server.engine.chunkers.shell import SHELL
from retrieval_server.engine.chunkers.syntax import Syntax

SYNTAXES: dict[str, Syntax] = {
    "c": C,
    "cpp": CPP,
    "cuda": CUDA,
    "go": GO,
    "java": JAVA,
    "javascript": JAVASCRIPT,
    "python": PYTHON,
    "rust": RUST,
    "shell": SHELL,
    "typescript": TYPESCRIPT,
}
