"""What a collection must hold, as a dictionary; and random operations that change both."""

import random
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import client as groundwire

COLLECTION = "chaos"
TREE_SOURCE = "tree"
WORD_EVERYWHERE = "everywhere"
_VOCABULARY = [f"{a}{b}{c}" for a in "bdfgklm" for b in "aeiou" for c in ("rin", "lop", "shad", "vex", "tum", "quil")]


@dataclass(frozen=True)
class Expected:
    """One document: its text, and what is set on it."""

    text: str
    title: str = ""
    tag: str = ""


State = Mapping[str, Expected]
"""Display path → document."""


@dataclass(frozen=True)
class Operation:
    """A call that leads from one state to another; repeating it after a crash must lead to the same."""

    name: str
    after: dict[str, Expected]
    run: Callable[[groundwire.Client], object]


@dataclass
class Operations:
    """Makes operations from a seeded source of chance; `tree` is the folder that is synced."""

    chance: random.Random
    tree: Path
    made_count: int = 0
    # Snapshot id → what it holds.
    snapshots: dict[str, State] = field(default_factory=dict)
    _version: int = field(default=0)

    def text(self) -> str:
        """Return a new text: no two are near each other, and each has a word of its own."""
        self._version += 1
        words = self.chance.choices(_VOCABULARY, k=self.chance.randint(8, 60))
        return f"# {words[0]} {words[1]}\n\n{WORD_EVERYWHERE} version{self._version:06d} {' '.join(words)}\n"

    def next(self, state: State) -> Operation:
        """Return an operation that can be done in `state`."""
        self.made_count += 1
        put_paths = sorted(path for path in state if not path.startswith("tree/"))
        kinds: list[Callable[[State, list[str]], Operation]] = [self._put, self._put, self._sync, self._snapshot]
        if put_paths:
            kinds += [self._update, self._delete, self._delete_by_filter, self._replace, self._search]
        if any(path.startswith("tree/") for path in state):
            kinds.append(self._rename)
        if self.snapshots:
            kinds += [self._restore, self._remove_snapshot]
        return self.chance.choice(kinds)(state, put_paths)

    @property
    def _request_id(self) -> str:
        return f"operation-{self.made_count}"

    def _put(self, state: State, _: list[str]) -> Operation:
        path = f"notes/n{self.chance.randint(0, 25)}.md"
        return self._put_at(state, path)

    def _replace(self, state: State, put_paths: list[str]) -> Operation:
        return self._put_at(state, self.chance.choice(put_paths))

    def _put_at(self, state: State, path: str) -> Operation:
        made = Expected(self.text(), title=self.chance.choice(["", "a title"]), tag=f"t{self.chance.randint(0, 3)}")
        request_id = self._request_id

        def run(client: groundwire.Client) -> object:
            return client.put_document(
                path,
                made.text,
                collection=COLLECTION,
                title=made.title or None,
                metadata={"tag": made.tag},
                request_id=request_id,
            )

        return Operation("put", {**state, path: made}, run)

    def _update(self, state: State, put_paths: list[str]) -> Operation:
        path = self.chance.choice(put_paths)
        title, request_id = f"title {self.chance.randint(0, 99)}", self._request_id

        def run(client: groundwire.Client) -> object:
            found = client.get_document(path, collection=COLLECTION, include_text=False)
            return client.update_document(found.document_id, collection=COLLECTION, title=title, request_id=request_id)

        return Operation("update", {**state, path: replace(state[path], title=title)}, run)

    def _search(self, state: State, put_paths: list[str]) -> Operation:
        """Look for a word that one document alone has."""
        path = self.chance.choice(put_paths)
        own_word = state[path].text.split()[4]

        def run(client: groundwire.Client) -> object:
            found = client.retrieve(own_word, k=1000, collection=COLLECTION).passages
            assert [passage.path for passage in found if own_word in passage.text] == [path]
            return found

        return Operation("search", dict(state), run)

    def _snapshot(self, state: State, _: list[str]) -> Operation:
        def run(client: groundwire.Client) -> object:
            made = client.create_snapshot(COLLECTION)
            self.snapshots[made.snapshot_id] = dict(state)
            return made

        return Operation("snapshot", dict(state), run)

    def _restore(self, state: State, _: list[str]) -> Operation:
        snapshot_id, held = self.chance.choice(sorted(self.snapshots.items()))

        def run(client: groundwire.Client) -> object:
            return client.restore_snapshot(snapshot_id)

        return Operation("restore", dict(held), run)

    def _remove_snapshot(self, state: State, _: list[str]) -> Operation:
        snapshot_id = self.chance.choice(sorted(self.snapshots))

        def run(client: groundwire.Client) -> object:
            # A call before this one may have died after its work was done.
            with suppress(groundwire.NotFound):
                client.delete_snapshot(snapshot_id)
            self.snapshots.pop(snapshot_id, None)
            assert snapshot_id not in {one.snapshot_id for one in client.snapshots()}
            return None

        return Operation("remove_snapshot", dict(state), run)

    def _delete(self, state: State, put_paths: list[str]) -> Operation:
        path = self.chance.choice(put_paths)
        request_id, known = self._request_id, list[str]()

        def run(client: groundwire.Client) -> object:
            if not known:
                known.append(client.get_document(path, collection=COLLECTION, include_text=False).document_id)
            return client.delete_document(known[0], collection=COLLECTION, request_id=request_id)

        return Operation("delete", {p: e for p, e in state.items() if p != path}, run)

    def _delete_by_filter(self, state: State, _: list[str]) -> Operation:
        tag, request_id = f"t{self.chance.randint(0, 3)}", self._request_id
        wanted = groundwire.PassageFilter(
            include_paths=("notes/**",), metadata=(groundwire.MetadataCondition("tag", equals=tag),)
        )

        def run(client: groundwire.Client) -> object:
            return client.delete_documents_by_filter(wanted, collection=COLLECTION, request_id=request_id)

        return Operation("delete_by_filter", {p: e for p, e in state.items() if e.tag != tag}, run)

    def _sync(self, state: State, _: list[str]) -> Operation:
        """Change a few files, add or remove one, and sync."""
        for _ in range(self.chance.randint(1, 3)):
            (self.tree / f"f{self.chance.randint(0, 12)}.md").write_text(self.text(), encoding="utf-8")
        if self.chance.random() < 0.4:
            (self.tree / f"f{self.chance.randint(0, 12)}.md").unlink(missing_ok=True)
        return self._synced("sync", state)

    def _rename(self, state: State, _: list[str]) -> Operation:
        files = sorted(self.tree.iterdir())
        if files:
            moved = self.chance.choice(files)
            moved.rename(moved.with_name(f"f{self.chance.randint(0, 12)}.md"))
        return self._synced("rename", state)

    def _synced(self, name: str, state: State) -> Operation:
        others = {path: expected for path, expected in state.items() if not path.startswith("tree/")}
        files = {f"tree/{file.name}": Expected(file.read_text(encoding="utf-8")) for file in self.tree.iterdir()}

        def run(client: groundwire.Client) -> object:
            return client.index(str(self.tree), collection=COLLECTION, source=TREE_SOURCE, prune=True)

        return Operation(name, others | files, run)
