"""What tells generators apart whose models bear one name."""

from pathlib import Path

from generation_worker.generator_identity import file_fingerprint, identity_of


def test_the_order_of_what_is_set_does_not_matter_and_all_of_it_does():
    assert identity_of("openai", {"a": 1, "b": [2]}) == identity_of("openai", {"b": [2], "a": 1})
    made = {identity_of(kind, {"a": value}) for kind in ("openai", "llama") for value in (1, "1", None)}
    assert len(made) == 6


def test_files_differ_by_size_beginning_middle_or_end(tmp_path: Path):
    mib = 1024 * 1024
    contents = [b"", b"GGUF", b"GGUF" + b"\0" * 3 * mib, b"GGUX" + b"\0" * 3 * mib, b"GGUF" + b"\0" * 3 * mib + b"!"]
    contents.append(contents[2][:-1] + b"!")
    contents.append(contents[2][:mib] + b"\1" * mib + contents[2][2 * mib :])
    found = set()
    for number, content in enumerate(contents):
        path = tmp_path / str(number)
        path.write_bytes(content)
        assert file_fingerprint(path) == file_fingerprint(path)
        found.add(file_fingerprint(path))
    assert len(found) == len(contents)
