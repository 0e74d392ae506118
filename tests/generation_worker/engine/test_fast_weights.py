"""Weights are converted when that is faster, and nothing of it stays behind."""

import os
import tempfile
from pathlib import Path

import llama_cpp

from generation_worker.engine.llama_model import LlamaModel, Row
from generation_worker.engine.sampler import Sampler
from groundwire.internal.v1 import job_pb2
from groundwire.models.locate import generator_file


def test_the_default_model_is_converted_and_the_copy_goes(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    llama = LlamaModel(generator_file(None).path, context_tokens=512, sequence_count=1, thread_count=1)
    assert list(tmp_path.iterdir()) == []
    assert llama_cpp.llama_model_ftype(llama._model) == llama_cpp.LLAMA_FTYPE_MOSTLY_Q8_0
    tokens = llama.content_tokens("It works without the file: ")
    llama.compute([Row(token, position, 0, wants_next=True) for position, token in enumerate(tokens)])
    sampler = Sampler(job_pb2.GenerationJob())
    assert sampler.choose(llama.context, len(tokens) - 1) > 0
    sampler.close()


def test_a_file_whose_name_is_no_text_is_loaded_and_converted(tmp_path: Path):
    path = tmp_path / os.fsdecode(b"model \xff.gguf")
    path.symlink_to(generator_file(None).path)
    llama = LlamaModel(path, context_tokens=512, sequence_count=1, thread_count=1)
    assert llama_cpp.llama_model_ftype(llama._model) == llama_cpp.LLAMA_FTYPE_MOSTLY_Q8_0


def test_without_room_for_the_copy_the_model_is_used_as_it_is(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    llama = LlamaModel(generator_file(None).path, context_tokens=512, sequence_count=1, thread_count=1)
    assert llama_cpp.llama_model_ftype(llama._model) == llama_cpp.LLAMA_FTYPE_MOSTLY_Q4_1
