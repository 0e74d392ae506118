"""A cross-encoder: a model that reads query and passage together, for `engine.reranking`.

None is shipped; GROUNDWIRE_CROSS_ENCODER names an ONNX file, with its tokenizer.json beside it.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from groundwire.models.locate import ModelCorrupt, ModelMissing

TOKENIZER_NAME = "tokenizer.json"
# What the encoders that such models are made from were trained to see; a tokenizer.json may say less.
_MAX_PIECES = 512
_SINGLE_LOGIT, _TWO_CLASSES = 1, 2


class CrossEncoder:
    """A sequence classifier over pairs, by onnxruntime. Thread-safe.

    The graph takes `input_ids` and, if it likes, `attention_mask` and `token_type_ids`, each (1, n_pieces) int64; its
    first output is one logit, or those of "irrelevant" and "relevant".

    Raises:
        ModelMissing: the model or its tokenizer is not there.
        ModelCorrupt: they cannot be used.
    """

    def __init__(self, model: Path, thread_count: int) -> None:
        self._tokenizer = _load_tokenizer(model.with_name(TOKENIZER_NAME))
        self._session = _load_session(model)
        self._inputs = [argument.name for argument in self._session.get_inputs()]
        # One pair a run: padding to a batch changes int8 scores, and pairs differ in length.
        self._threads = ThreadPoolExecutor(thread_count, thread_name_prefix="rerank")
        try:
            self._score(self._tokenizer.encode("a", "b"))
        except Exception as error:  # the library's errors have no common base but this
            raise ModelCorrupt(f"{model} is not a usable cross-encoder: {str(error).splitlines()[0]}") from error

    def scores(self, query: str, passages: Sequence[str]) -> NDArray[np.float32]:
        """Return one logit a passage, (n_passages,) float32; of a long pair the longer text is cut."""
        pairs = [self._tokenizer.encode(_encodable(query), _encodable(passage)) for passage in passages]
        return np.fromiter(self._threads.map(self._score, pairs), np.float32, len(pairs))

    def close(self) -> None:
        """Stop the threads."""
        self._threads.shutdown()

    def _score(self, pair: Encoding) -> float:
        known = {"input_ids": pair.ids, "attention_mask": pair.attention_mask, "token_type_ids": pair.type_ids}
        values = {name: np.array([known[name]], np.int64) for name in self._inputs}
        logits = np.asarray(self._session.run(None, values)[0], np.float32).reshape(-1)
        if len(logits) == _SINGLE_LOGIT:
            return float(logits[0])
        if len(logits) == _TWO_CLASSES:
            return float(logits[1] - logits[0])
        raise ValueError(f"its first output has {len(logits)} values for a pair, not 1 or 2")


def _load_tokenizer(path: Path) -> Tokenizer:
    if not path.is_file():
        raise ModelMissing(f"no {path}: a cross-encoder needs its tokenizer beside it (GROUNDWIRE_CROSS_ENCODER)")
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises plain Exception
        raise ModelCorrupt(f"{path} is not a usable tokenizer: {error}") from error
    own_limit = (tokenizer.truncation or {}).get("max_length", _MAX_PIECES)
    tokenizer.enable_truncation(min(own_limit, _MAX_PIECES), strategy="longest_first")
    tokenizer.no_padding()
    # A passage that holds "[SEP]" holds these letters, and not the model's own marks.
    tokenizer.encode_special_tokens = True
    return tokenizer


def _load_session(model: Path) -> ort.InferenceSession:
    if not model.is_file():
        raise ModelMissing(f"no {model}: set GROUNDWIRE_CROSS_ENCODER to an ONNX file, or unset it")
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.enable_mem_pattern = False  # every length would leave a plan behind
    options.log_severity_level = 3
    try:
        return ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the library's errors have no common base but this
        raise ModelCorrupt(f"{model} is not a usable cross-encoder: {str(error).splitlines()[0]}") from error


def _encodable(text: str) -> str:
    """Return the text with lone surrogates, which UTF-8 has no bytes for, replaced by U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
