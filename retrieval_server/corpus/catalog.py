"""All collections of a data directory."""

import asyncio
import errno
import os
import re
import shutil
import sqlite3
from pathlib import Path

from groundwire.v1 import error_pb2
from retrieval_server.corpus.collection import Collection
from retrieval_server.corpus.directory_lock import DirectoryLock
from retrieval_server.corpus.open_collection import OpenCollection
from retrieval_server.engine.encoder import Encoder
from retrieval_server.errors import FailedPrecondition, FieldError, GroundwireError, InvalidRequest, NotFound

DEFAULT_COLLECTION = "default"
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


def checked_name(name: str, field: str) -> str:
    """Return a collection's name, the default for an empty one. Raises InvalidRequest naming `field`."""
    name = name or DEFAULT_COLLECTION
    if not _NAME.fullmatch(name):
        raise InvalidRequest(
            FieldError(field, "1 to 64 of lower-case letters, digits, - and _, starting with a letter or digit")
        )
    return name


class Catalog:
    """Opens what is there at start, makes new collections on demand, and closes all."""

    def __init__(self, data_dir: Path, encoder: Encoder | None) -> None:
        self._root = data_dir / "collections"
        self._lock = DirectoryLock(data_dir)
        self._encoder = encoder
        self._open: dict[str, OpenCollection] = {}
        self._creating = asyncio.Lock()

    async def open_all(self) -> None:
        """Open every collection. Raises GroundwireError for one that this server cannot read."""
        try:
            self._root.mkdir(parents=True, exist_ok=True)
            if not os.access(self._root, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self._root))
            self._lock.acquire()
        except OSError as error:
            raise GroundwireError(
                error_pb2.ERROR_REASON_STORAGE_FAILED,
                f"the data directory cannot be used: {error.strerror or error} ({error.filename}); "
                "set GROUNDWIRE_DATA_DIR to a directory of your own",
            ) from error
        for directory in sorted(self._root.iterdir()):
            if directory.is_dir() and _NAME.fullmatch(directory.name):
                await self._open_one(directory.name)

    def names(self) -> list[str]:
        """Return the names of all collections, sorted."""
        return sorted(self._open)

    def get(self, name: str, field: str = "collection") -> OpenCollection:
        """Return a collection. Raises NotFound."""
        name = checked_name(name, field)
        found = self._open.get(name)
        if found is None:
            raise NotFound(
                error_pb2.ERROR_REASON_COLLECTION_NOT_FOUND,
                f"no collection {name!r}; `client index PATH --collection {name}` makes it",
                metadata={"collection": name},
            )
        return found

    async def get_or_create(self, name: str, field: str = "collection") -> OpenCollection:
        """Return a collection, making an empty one when it is not there."""
        name = checked_name(name, field)
        async with self._creating:
            if name not in self._open:
                await self._open_one(name)
            return self._open[name]

    async def close(self) -> None:
        """Close every collection."""
        for opened in self._open.values():
            await opened.close()
        self._open.clear()
        self._lock.release()

    async def _open_one(self, name: str) -> OpenCollection:
        fingerprint, dimension = (self._encoder.fingerprint, self._encoder.dimension) if self._encoder else ("", None)
        directory = self._root / name
        is_new = not directory.exists()
        try:
            collection = await asyncio.to_thread(Collection, name, directory, fingerprint, dimension)
        except (OSError, ValueError, sqlite3.Error, GroundwireError) as error:
            if is_new:
                # Half a collection would keep the server from starting.
                shutil.rmtree(directory, ignore_errors=True)
            if isinstance(error, FailedPrecondition):
                raise
            raise GroundwireError(
                error_pb2.ERROR_REASON_STORAGE_FAILED,
                f"collection {name} cannot be opened ({error}): if the disk is full, free some space; if "
                f"{directory} is damaged, put it back from a copy, or remove it and run `client index` again",
            ) from error
        opened = OpenCollection(collection, self._encoder)
        self._open[name] = opened
        return opened
