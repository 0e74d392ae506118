"""Files that belong to a tree whatever its ignore files say: what git tracks, and what a Python package shipped.

Git never ignores a file that it tracks. An unpacked source distribution has no git any more, but keeps both the
`.gitignore` and the list of what was packed: *.egg-info/SOURCES.txt.
"""

import os
import posixpath
import subprocess
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from client._read import NotTakenError, TreeFiles

_GIT = ".git"
_PACKAGE_FOLDER_SUFFIX = ".egg-info"
_PACKAGE_LIST = "SOURCES.txt"
# Git may take as long as it needs, unless the caller is not waiting any more.
_LOOK_INTERVAL_S = 0.2
# What git says where there is none, or what is left of one that lies elsewhere; in English, which is asked for.
_NO_REPOSITORY = "not a git repository"
# A repository's own configuration must not start programs while it is only being listed.
_GIT_COMMAND = ("git", "--no-optional-locks", "-c", "core.fsmonitor=false", "ls-files", "-z", "--cached")
# Set in hooks and by `git rebase --exec`, they name the repository that the caller works on: never mind where this is.
_OTHER_REPOSITORY = frozenset(
    (
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_DIR",
        "GIT_INDEX_FILE",
        "GIT_NAMESPACE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_WORK_TREE",
    )
)


@dataclass(frozen=True, slots=True)
class ShippedFiles:
    """Paths below `folder` ("" or ending in "/"), and the folders that lead to them, each relative to the root."""

    files: frozenset[str]
    folders: frozenset[str]


def shipped_files(
    root_folder: str, folder: str, names: Iterable[str], tree: TreeFiles, stopped: threading.Event
) -> ShippedFiles | None:
    """Return what belongs to the tree that begins at `folder`, or None when no tree begins there.

    Raises NotTakenError, unreadable, when git fails: what it tracks may have been indexed and is not known now.
    """
    names = set(names)
    here = os.path.join(root_folder, folder)
    listed: Sequence[str] = ()
    if _GIT in names or (not folder and _is_below_git(here)):
        listed = _tracked_by_git(here, stopped)
    else:
        for name in sorted(names):
            if name.endswith(_PACKAGE_FOLDER_SUFFIX):
                listed = (*listed, *_listed_in(tree, f"{folder}{name}/{_PACKAGE_LIST}"))
    if not listed:
        return None
    files = frozenset(folder + path for path in listed)
    folders: set[str] = set()
    for path in files:
        parent = posixpath.dirname(path)
        while parent and f"{parent}/" not in folders:
            folders.add(f"{parent}/")
            parent = posixpath.dirname(parent)
    return ShippedFiles(files, frozenset(folders))


def is_shipped(path: str, shipped: Sequence[ShippedFiles]) -> bool:
    """Tell whether a file, or a folder (ending in "/") on the way to one, belongs to its tree."""
    return any(path in each.folders if path.endswith("/") else path in each.files for each in shipped)


def _is_below_git(folder: str) -> bool:
    parent = os.path.dirname(folder.rstrip(os.sep))
    while parent and not os.path.lexists(os.path.join(parent, _GIT)):
        if parent == os.path.dirname(parent):
            return False
        parent = os.path.dirname(parent)
    return bool(parent)


def _tracked_by_git(folder: str, stopped: threading.Event) -> Sequence[str]:
    environment = {name: value for name, value in os.environ.items() if name not in _OTHER_REPOSITORY}
    try:
        git = subprocess.Popen(
            _GIT_COMMAND,
            cwd=folder,
            env={**environment, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    except (FileNotFoundError, PermissionError):
        return ()  # no git here: the ignore files alone decide
    except OSError as error:
        raise _git_failed(error.strerror or str(error)) from None
    with git:
        while True:
            try:
                listing, complaint = git.communicate(timeout=_LOOK_INTERVAL_S)
                break
            except subprocess.TimeoutExpired:
                if stopped.is_set():
                    git.kill()
    if git.returncode == 0:
        return [path.decode("utf-8", "surrogateescape") for path in listing.split(b"\0") if path]
    told = complaint.decode("utf-8", "replace")
    if _NO_REPOSITORY in told:
        return ()
    fatal = [line for line in told.splitlines() if line.startswith("fatal: ")]
    raise _git_failed(fatal[0] if fatal else f"it ended with {git.returncode}")


def _git_failed(problem: str) -> NotTakenError:
    reason = f"git does not say what it tracks ({problem}), so the ignore files alone decide; see `git ls-files` there"
    return NotTakenError(reason, unreadable=True)


def _listed_in(tree: TreeFiles, path: str) -> Sequence[str]:
    try:
        lines = tree.look_into(path).decode("utf-8", "surrogateescape").split("\n")
    except NotTakenError:
        return ()
    return [line.strip().replace("\\", "/") for line in lines if line.strip()]
