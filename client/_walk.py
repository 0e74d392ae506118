"""A look at the disk: which files there are under a root, and the hash of each.

Only regular files are opened. A symbolic link to a file is followed when its target lies inside the root; links to
folders are not followed, so no loop can arise. What is not taken is reported with a reason, except what is ignored
(`client/_ignore.py`).
"""

import hashlib
import os
import posixpath
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from client import _ignore, _shipped
from client._read import NotTakenError, TreeFiles, cannot_read
from client.errors import invalid_field

_PROGRESS_STEP = 100
# What is hashed is what is sent, from one reading; of trees beyond this, what the server asks for is read again.
_MAX_KEPT_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Root:
    """What is indexed: `folder` on disk, `source` the server's key for it, `display_prefix` shown before its paths.

    `only_file` is set when a single file was named; the folder is then the one that it lies in.
    """

    folder: str
    source: str
    display_prefix: str
    only_file: str | None


@dataclass(frozen=True, slots=True)
class ScannedFile:
    """A file to offer; the path is relative to the root, POSIX style."""

    relative_path: str
    sha256: bytes
    size_bytes: int


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file or folder that is not offered, and why; `unreadable` ones may hold what an earlier run indexed."""

    relative_path: str
    reason: str
    unreadable: bool = False


@dataclass(frozen=True, slots=True)
class Scan:
    """All of a root, by path; `contents` has the bytes of files, as far as they are kept."""

    root: Root
    files: tuple[ScannedFile, ...]
    skipped: tuple[SkippedFile, ...]
    contents: dict[str, bytes] = field(default_factory=dict, repr=False)


def find_root(typed: str, source: str | None) -> Root:
    """Return the root that `typed` names; raise InvalidRequest when there is none."""
    try:
        typed.encode()
        is_folder = os.path.isdir(typed)
        if not is_folder and not os.path.isfile(typed):
            raise invalid_field("path", f"{typed!r} is not a folder or a regular file")
    except ValueError:  # bytes that are not UTF-8, or a NUL
        raise invalid_field("path", f"{typed!r} is not UTF-8 text") from None
    folder, only_file = (typed, None) if is_folder else (os.path.dirname(typed) or ".", os.path.basename(typed))
    prefix = posixpath.normpath(folder.replace(os.sep, "/"))
    resolved = os.path.realpath(folder)
    return Root(
        folder=resolved,
        source=resolved.replace(os.sep, "/") if source is None else source,
        display_prefix="" if prefix == "." else prefix,
        only_file=only_file,
    )


def scan(
    root: Root, path_filter: _ignore.PathFilter, *, stopped: threading.Event, on_count: Callable[[int], None]
) -> Scan:
    """Read and hash everything under `root`, until `stopped` is set; `on_count` hears how many are done."""
    files: list[ScannedFile] = []
    skipped: list[SkippedFile] = []
    contents: dict[str, bytes] = {}
    room_bytes = _MAX_KEPT_BYTES
    tree = TreeFiles(root.folder)
    for found in _list_files(root, tree, skipped, stopped):
        if stopped.is_set():
            break
        if root.only_file is None and not path_filter.takes(found):
            continue
        try:
            content = tree.take_text(found)
        except NotTakenError as refusal:
            skipped.append(SkippedFile(found, str(refusal), refusal.unreadable))
            continue
        files.append(ScannedFile(found, hashlib.sha256(content).digest(), len(content)))
        if len(content) <= room_bytes:
            room_bytes -= len(content)
            contents[found] = content
        if len(files) % _PROGRESS_STEP == 0:
            on_count(len(files))
    files.sort(key=lambda file: file.relative_path)
    skipped.sort(key=lambda file: file.relative_path)
    return Scan(root, tuple(files), tuple(skipped), contents)


def _is_wanted(path: str, ignore_files: Sequence[_ignore.IgnoreFile], shipped: Sequence[_shipped.ShippedFiles]) -> bool:
    # A look-up before many patterns; most files of a tree are shipped.
    return _shipped.is_shipped(path, shipped) or not _ignore.is_ignored(path, ignore_files)


def _list_files(root: Root, tree: TreeFiles, skipped: list[SkippedFile], stopped: threading.Event) -> Iterator[str]:
    """Yield the relative paths of files to read; add to `skipped` what is no such file."""
    if root.only_file is not None:
        yield root.only_file
        return
    open_folders: list[tuple[str, tuple[_ignore.IgnoreFile, ...], tuple[_shipped.ShippedFiles, ...]]] = [("", (), ())]
    while open_folders:
        folder, ignore_files, shipped = open_folders.pop()
        try:
            with os.scandir(os.path.join(root.folder, folder)) as listing:
                entries = list(listing)
        except OSError as error:
            skipped.append(SkippedFile(folder, f"folder {cannot_read(error)}", unreadable=True))
            continue
        names = {entry.name for entry in entries}
        if folder and _ignore.VIRTUAL_ENVIRONMENT_MARK in names:
            continue
        if ".gitignore" in names:
            ignore_files = (*ignore_files, *_ignore_file(tree, folder))
        try:
            found = _shipped.shipped_files(root.folder, folder, names, tree, stopped)
        except NotTakenError as refusal:
            found = None
            skipped.append(SkippedFile(f"{folder}.git", str(refusal), refusal.unreadable))
        if found is not None:
            shipped = (*shipped, found)
        for entry in entries:
            path = folder + entry.name
            is_wanted = _is_wanted(f"{path}/" if entry.is_dir(follow_symlinks=False) else path, ignore_files, shipped)
            if entry.name in _ignore.VERSION_CONTROL_NAMES:
                continue
            if not _is_utf8(entry.name):
                skipped.append(SkippedFile(_shown(path), "name is not UTF-8", unreadable=False))
            elif entry.is_dir(follow_symlinks=False):
                if entry.name not in _ignore.CACHE_FOLDERS and is_wanted:
                    open_folders.append((f"{path}/", ignore_files, shipped))
            elif is_wanted:
                reason = _reason_not_to_open(entry, root.folder)
                if reason is None:
                    yield path
                else:
                    skipped.append(SkippedFile(path, reason))


def _ignore_file(tree: TreeFiles, folder: str) -> tuple[_ignore.IgnoreFile, ...]:
    try:
        return (_ignore.parse_ignore_file(folder, tree.look_into(f"{folder}.gitignore")),)
    except NotTakenError:
        return ()


def _reason_not_to_open(entry: os.DirEntry[str], root_folder: str) -> str | None:
    try:
        if not entry.is_symlink():
            return None if entry.is_file(follow_symlinks=False) else "not a regular file"
        if not entry.is_file():
            return "symbolic link to a folder" if entry.is_dir() else "symbolic link to nothing that can be read"
        target = os.path.realpath(entry.path)
    except OSError:
        return "symbolic link to nothing that can be read"  # a loop, or too many links
    inside = os.path.commonpath([root_folder, target]) == root_folder
    return None if inside else "symbolic link that leaves the root"


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _shown(path: str) -> str:
    """Return a path whose odd bytes are escaped, so that it can be shown and sent."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
