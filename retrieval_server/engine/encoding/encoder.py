"""Texts to vectors with MiniLM on onnxruntime: queries at once, windows in bulk on threads of their own."""

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Protocol

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray
from tokenizers import Tokenizer

from groundwire.models.locate import EncoderFiles, ModelCorrupt
from groundwire.models.minilm_names import EMBEDDING, INPUT_IDS

MAX_PIECES = 256  # what the model was trained to see, the two special ones included
SPECIAL_PIECES = 2

# Texts that a thread encodes before others' texts have a turn.
_TEXTS_PER_TURN = 4

_LONE_THREADS = 2
# Longer than what one thread does between two shares of both, and hardly longer.
_AWAKE_US = 200

# Bulk work gives way to queries, ingest and the event loop, but keeps about a quarter of a contended core.
_BULK_NICENESS = 6


class EncodingStopped(Exception):
    """`should_stop` became true before every window was encoded."""


class Encoder(Protocol):
    """Maps texts to vectors, of any length; vectors of different fingerprints must never be compared."""

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        ...

    @property
    def fingerprint(self) -> str:
        """What identifies the model and the tokenizer."""
        ...

    def encode_query(self, text: str, *, is_alone: bool = False) -> NDArray[np.float32]:
        """Return one vector, (dimension,) float32, the same for a caller that says that it `is_alone`, but sooner."""
        ...

    def encode_windows(
        self, texts: Sequence[str], should_stop: Callable[[], bool] | None = None
    ) -> NDArray[np.float32]:
        """Return one vector a text, (n_texts, dimension) float32."""
        ...

    def count_pieces(self, texts: Sequence[str]) -> list[int]:
        """Return how many pieces each text has, uncut and without special ones."""
        ...


class MiniLmEncoder:
    """all-MiniLM-L6-v2 as int8. One text a run, so a vector depends on its text alone.

    One session serves every thread: each run works on the thread that calls it, so queries wait for nothing. A second
    session, with weights of its own, has a second thread, for a query that is alone: any other would cost a quarter
    more processor time with it, since that thread spins between its shares.
    """

    def __init__(self, files: EncoderFiles, thread_count: int) -> None:
        self.fingerprint = files.fingerprint
        self._tokenizer = _load_tokenizer(files)
        self._first_id, self._last_id = _bracket_ids(self._tokenizer, files)
        self._session = _load_session(files, 1)
        self._lone_session = _load_session(files, _LONE_THREADS) if thread_count >= _LONE_THREADS else self._session
        self.dimension: int = self._session.get_outputs()[0].shape[1]
        self._thread_count = thread_count
        self._is_closing = False
        self._pool = ThreadPoolExecutor(thread_count, thread_name_prefix="encode", initializer=_lower_priority)
        # The longest input first: the arena then holds all that later ones need, and does not grow piecemeal.
        for session in {self._session, self._lone_session}:
            _run(session, [self._first_id] * MAX_PIECES)

    def encode_query(self, text: str, *, is_alone: bool = False) -> NDArray[np.float32]:
        """Return the text's vector, (384,) float32, L2-normalised; what exceeds 256 word pieces is not seen."""
        return _run(self._lone_session if is_alone else self._session, self._ids(text))

    def encode_windows(
        self, texts: Sequence[str], should_stop: Callable[[], bool] | None = None
    ) -> NDArray[np.float32]:
        """Return the texts' vectors, (n_texts, 384) float32, L2-normalised, encoded on the bulk threads.

        Calls from several threads share the bulk threads in turns.

        Raises:
            EncodingStopped: `should_stop`, asked before each text and from the bulk threads, returned true.
        """
        vectors = np.empty((len(texts), self.dimension), np.float32)

        def take_turn(start: int) -> None:
            for index in range(start, min(start + _TEXTS_PER_TURN, len(texts))):
                if self._is_closing or (should_stop is not None and should_stop()):
                    raise EncodingStopped
                vectors[index] = _run(self._session, self._ids(texts[index]))

        turns = iter(range(0, len(texts), _TEXTS_PER_TURN))
        self._run_in_turns(take_turn, turns)
        return vectors

    def count_pieces(self, texts: Sequence[str]) -> list[int]:
        """Return how many word pieces each text has, uncut and without the two special ones."""
        clean = [_without_surrogates(text) for text in texts]
        return [len(encoding) for encoding in self._tokenizer.encode_batch_fast(clean, add_special_tokens=False)]

    def close(self) -> None:
        """Stop the bulk threads; whoever waits for vectors gets EncodingStopped.

        Turns are not cancelled by the pool: `wait` is never told of futures that a shutdown cancels.
        """
        self._is_closing = True
        self._pool.shutdown(wait=True)

    def _run_in_turns(self, take_turn: Callable[[int], None], turns: Iterator[int]) -> None:
        # One turn more than there are threads: none of them idles, and another call's turns come up soon.
        pending: set[Future[None]] = set()
        try:
            while True:
                for start in turns:
                    pending.add(self._submit(take_turn, start))
                    if len(pending) > self._thread_count:
                        break
                if not pending:
                    return
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    future.result()
        finally:
            for future in pending:
                future.cancel()
            wait(pending)

    def _submit(self, take_turn: Callable[[int], None], start: int) -> Future[None]:
        try:
            return self._pool.submit(take_turn, start)
        except RuntimeError as error:  # the pool's way to say that it was shut down
            raise EncodingStopped from error

    def _ids(self, text: str) -> list[int]:
        encoding = self._tokenizer.encode(_without_surrogates(text), add_special_tokens=False)
        return [self._first_id, *encoding.ids[: MAX_PIECES - SPECIAL_PIECES], self._last_id]


def _load_tokenizer(files: EncoderFiles) -> Tokenizer:
    try:
        tokenizer = Tokenizer.from_file(str(files.tokenizer))
    except Exception as error:  # the library raises plain Exception
        raise ModelCorrupt(f"{files.tokenizer} is not a usable tokenizer: {error}") from error
    # The file asks for 128 pieces and padding; cutting is done here so that the count of an uncut text is known too.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    # A text that holds "[SEP]" or "[CLS]" holds these letters, and not the model's own marks.
    tokenizer.encode_special_tokens = True
    return tokenizer


def _bracket_ids(tokenizer: Tokenizer, files: EncoderFiles) -> tuple[int, int]:
    first_id, last_id = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
    if first_id is None or last_id is None:
        raise ModelCorrupt(f"{files.tokenizer} is not a usable tokenizer: it lacks [CLS] or [SEP]")
    return first_id, last_id


def _run(session: ort.InferenceSession, ids: list[int]) -> NDArray[np.float32]:
    vector: NDArray[np.float32] = session.run([EMBEDDING], {INPUT_IDS: np.array([ids], np.int64)})[0][0]
    return vector


def _load_session(files: EncoderFiles, thread_count: int) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.intra_op_num_threads = thread_count
    # Between the shares of one run threads wait awake, and at its end they sleep.
    options.add_session_config_entry("session.intra_op.spin_duration_us", str(_AWAKE_US))
    options.add_session_config_entry("session.force_spinning_stop", "1")
    options.inter_op_num_threads = 1
    # Without the arena each run maps and faults its buffers anew (up to twice the time); one text's are a few MB.
    options.enable_cpu_mem_arena = True
    options.enable_mem_pattern = False  # every length would leave a plan behind
    # The graph is fused by hand; extended optimisation would put the slow SkipLayerNormalization back.
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.log_severity_level = 3
    try:
        return ort.InferenceSession(str(files.model), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the library's errors have no common base but this
        reason = str(error).splitlines()[0]
        raise ModelCorrupt(f"{files.model} is not a usable encoder: {reason}") from error


def _without_surrogates(text: str) -> str:
    """Return the text with each lone surrogate, which UTF-8 has no bytes for, replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _lower_priority() -> None:
    # Only Linux has a priority for each thread; elsewhere this would slow the whole process.
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _BULK_NICENESS)
