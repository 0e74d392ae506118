"""MiniLM against reference vectors, and against texts that were not written to be embedded."""

import dataclasses
import json
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
from numpy.typing import NDArray
from tokenizers import Tokenizer

from groundwire.models.locate import FP32_NAME, EncoderFiles, ModelCorrupt, ModelMissing, encoder_files
from groundwire.models.minilm_names import ATTENTION_MASK, EMBEDDING, INPUT_IDS
from retrieval_server.engine.encoding.encoder import MAX_PIECES, EncodingStopped, MiniLmEncoder

GOLDEN = Path(__file__).parents[3] / "fixtures" / "golden" / "minilm_reference.json"


@pytest.fixture(scope="module")
def files() -> EncoderFiles:
    given = os.environ.get("GROUNDWIRE_MODELS_DIR")
    try:
        return encoder_files(Path(given) if given else None)
    except ModelMissing as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def encoder(files: EncoderFiles) -> Iterator[MiniLmEncoder]:
    made = MiniLmEncoder(files, thread_count=2)
    yield made
    made.close()


@pytest.fixture(scope="module")
def golden() -> tuple[list[str], NDArray[np.float64]]:
    """Texts and their unit vectors, by sentence-transformers in float32."""
    content = json.loads(GOLDEN.read_text("utf-8"))
    vectors = np.array(content["vectors"])
    return content["texts"], vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_int8_vectors_are_near_the_reference(encoder: MiniLmEncoder, golden):
    texts, reference = golden
    cosines = (encoder.encode_windows(texts) * reference).sum(axis=1)
    assert cosines.min() >= 0.98
    assert cosines.mean() >= 0.99


def test_fp32_vectors_are_the_reference_alone_and_in_a_padded_batch(files: EncoderFiles, golden):
    texts, reference = golden
    tokenizer = Tokenizer.from_file(str(files.tokenizer))
    tokenizer.enable_truncation(MAX_PIECES)
    tokenizer.enable_padding()
    session = ort.InferenceSession(str(files.model.with_name(FP32_NAME)), providers=["CPUExecutionProvider"])

    def run(batch: list[str]) -> NDArray[np.float32]:
        encodings = tokenizer.encode_batch(batch)
        ids, mask = [e.ids for e in encodings], [e.attention_mask for e in encodings]
        return session.run([EMBEDDING], {INPUT_IDS: np.array(ids), ATTENTION_MASK: np.array(mask)})[0]

    for vectors in (run(texts), np.concatenate([run([text]) for text in texts])):
        assert (vectors * reference).sum(axis=1).min() >= 0.9999


def test_a_vector_depends_on_its_text_alone(encoder: MiniLmEncoder, golden):
    texts = golden[0]
    together = encoder.encode_windows(texts)
    assert np.array_equal(encoder.encode_windows(texts[::-1]), together[::-1])
    for text, vector in zip(texts, together, strict=True):
        assert np.array_equal(encoder.encode_query(text), vector)
        assert np.array_equal(encoder.encode_query(text, is_alone=True), vector)
        assert np.array_equal(encoder.encode_windows([text])[0], vector)


def test_a_second_encoder_gives_the_same_vectors(encoder: MiniLmEncoder, files: EncoderFiles, golden):
    second = MiniLmEncoder(files, thread_count=1)
    try:
        assert second.fingerprint == encoder.fingerprint
        assert np.array_equal(second.encode_windows(golden[0]), encoder.encode_windows(golden[0]))
    finally:
        second.close()


def test_shapes_types_and_lengths(encoder: MiniLmEncoder):
    assert encoder.dimension == 384
    query, windows = encoder.encode_query("one"), encoder.encode_windows(["one", "two", "three"])
    assert (query.shape, query.dtype) == ((384,), np.float32)
    assert (windows.shape, windows.dtype) == ((3, 384), np.float32)
    assert np.linalg.norm(windows, axis=1) == pytest.approx(1, abs=1e-5)
    assert encoder.encode_windows([]).shape == (0, 384)


HOSTILE_TEXTS = [
    "",
    " \n\t",
    "\x00",
    "a\x00b",
    "\ud800",
    "x\udfffy",
    "\ud83d\ude80",
    "[PAD]",
    "\u200b" * 50,
    "(" * 5000,
]
HOSTILE_TEXTS += ["a" * 200_000, "𝔘🚀" * 400]


@pytest.mark.parametrize("text", HOSTILE_TEXTS, ids=lambda text: f"{text[:8]!a}x{len(text)}")
def test_any_text_has_a_finite_unit_vector(encoder: MiniLmEncoder, text: str):
    vector = encoder.encode_query(text)
    assert np.isfinite(vector).all()
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
    assert np.array_equal(encoder.encode_windows([text])[0], vector)
    assert encoder.count_pieces([text])[0] >= 0


def test_lone_surrogates_are_replaced_and_the_rest_is_kept(encoder: MiniLmEncoder):
    assert np.array_equal(encoder.encode_query("cache \ud800eviction"), encoder.encode_query("cache \ufffdeviction"))
    assert np.array_equal(encoder.encode_query("\ud83d\ude80"), encoder.encode_query("🚀"))


def test_the_models_own_marks_in_a_text_are_text(encoder: MiniLmEncoder):
    """Taken as marks they would be one piece each, and could end the text for the model."""
    assert encoder.count_pieces(["[SEP]", "[CLS]", "[sep]"]) == [3, 4, 3]
    assert np.array_equal(encoder.encode_query("a [SEP] b"), encoder.encode_query("a [sep] b"))


def test_what_exceeds_the_models_sight_is_cut(encoder: MiniLmEncoder):
    fits = "word " * (MAX_PIECES - 2)
    assert np.array_equal(encoder.encode_query(fits + "beyond the end"), encoder.encode_query(fits))
    assert not np.array_equal(encoder.encode_query("word " * (MAX_PIECES - 3)), encoder.encode_query(fits))


def test_pieces_are_counted_uncut_and_without_marks(encoder: MiniLmEncoder):
    assert encoder.count_pieces(["", "word", "word " * 1000, "kvcache"]) == [0, 1, 1000, 3]
    assert encoder.count_pieces([]) == []


def test_bulk_encoding_stops_when_asked_to(encoder: MiniLmEncoder):
    asked = []

    def should_stop() -> bool:
        asked.append(True)
        return len(asked) > 10

    with pytest.raises(EncodingStopped):
        encoder.encode_windows(["word"] * 10_000, should_stop)
    assert len(asked) < 50


def test_whoever_waits_for_vectors_is_told_when_the_encoder_closes(files: EncoderFiles):
    closing = MiniLmEncoder(files, thread_count=2)
    started = threading.Event()

    def should_stop() -> bool:
        started.set()
        return False

    with ThreadPoolExecutor(1) as pool:
        long = pool.submit(closing.encode_windows, ["a long text " * 20] * 100_000, should_stop)
        assert started.wait(60)
        closing.close()
        with pytest.raises(EncodingStopped):
            long.result(60)


def test_a_failing_call_leaves_the_encoder_usable(encoder: MiniLmEncoder):
    def should_stop() -> bool:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        encoder.encode_windows(["word"] * 100, should_stop)
    assert len(encoder.encode_windows(["word"] * 10)) == 10


def test_calls_from_many_threads_do_not_mix(encoder: MiniLmEncoder):
    texts = [f"text number {number}" for number in range(40)]
    expected = encoder.encode_windows(texts)
    with ThreadPoolExecutor(8) as pool:
        queries = pool.map(encoder.encode_query, texts)
        bulk = [pool.submit(encoder.encode_windows, texts) for _ in range(3)]
        assert np.array_equal(np.stack(list(queries)), expected)
        assert all(np.array_equal(future.result(), expected) for future in bulk)


def test_a_small_call_does_not_wait_for_a_long_one(encoder: MiniLmEncoder):
    started, finish = threading.Event(), threading.Event()

    def should_stop() -> bool:
        started.set()
        return finish.is_set()

    with ThreadPoolExecutor(1) as pool:
        long = pool.submit(encoder.encode_windows, ["a long text " * 20] * 100_000, should_stop)
        try:
            assert started.wait(60)
            assert len(encoder.encode_windows(["short"])) == 1
            assert not long.done()
        finally:
            finish.set()
        with pytest.raises(EncodingStopped):
            long.result(60)


@pytest.mark.parametrize("part", ["model", "tokenizer"])
def test_a_wrong_model_file_is_one_line(files: EncoderFiles, tmp_path: Path, part: str):
    wrong = tmp_path / "wrong"
    wrong.write_bytes(b"not a model")
    with pytest.raises(ModelCorrupt) as raised:
        MiniLmEncoder(dataclasses.replace(files, **{part: wrong}), thread_count=1)
    assert str(wrong) in str(raised.value)
    assert "\n" not in str(raised.value)
