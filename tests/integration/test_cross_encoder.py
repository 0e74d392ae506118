"""A server with a cross-encoder: it orders the best candidates, says so, and refuses a file that it cannot use."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.test_bad_environment import NO_REDIS, start_refused
from tests.support.client import run_client
from tests.support.processes import Server, ServiceProcess
from tests.support.rpc import retrieve
from tests.support.tiny_cross_encoder import write_model, write_tokenizer

# By words the first is best, holding all of them; the model counts every "storm".
FILES = {
    "first.md": "The gate storm signal.\n",
    "second.md": "A storm is a storm is a storm, and a storm after a storm is a storm.\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    harbour = tmp_path / "harbour"
    harbour.mkdir()
    for name, text in FILES.items():
        (harbour / name).write_text(text)
    return harbour


def measured(server: Server, tmp_path: Path, *options: str) -> float:
    """The mean reciprocal rank that `evaluate-retrieval` finds for the one question, which first.md answers."""
    source = {"file_path": "first.md", "first_character_index": 0, "last_character_index": len(FILES["first.md"])}
    question = {"question_id": "q", "question": "what is the gate storm signal?", "sources": [source]}
    dataset = tmp_path / "dataset.json"
    dataset.write_text(json.dumps({"rag_questions": [question]}))
    run = run_client(server.address, "evaluate-retrieval", dataset, *options, "--json", cwd=tmp_path).assert_ok()
    return run.json["mean_reciprocal_rank"]


def test_it_orders_the_best_anew_and_explains_it(
    tmp_path: Path, folder: Path, own_process: Callable[[ServiceProcess], ServiceProcess]
):
    write_tokenizer(tmp_path)
    model = write_model(tmp_path, [[1.0]])
    orders = {}
    for name, settings in (("without", {}), ("with", {"GROUNDWIRE_CROSS_ENCODER": str(model)})):
        server = Server(tmp_path / name, redis_url=NO_REDIS, GROUNDWIRE_LEXICAL_ONLY="true", **settings)
        own_process(server).start()
        run_client(server.address, "index", folder, cwd=tmp_path).assert_ok()
        with server.channel() as channel:
            found = retrieve(channel, "what is the gate storm signal?", collection="default", k=2, explain=True)
            named = retrieve(channel, "gate_storm", collection="default", k=2, explain=True)
        orders[name] = [passage.path.rsplit("/", 1)[-1] for passage in found.passages]
        is_told = {prior.name: prior.factor for prior in found.passages[0].priors}
        assert ("cross_encoder" in is_told) == (name == "with")
        assert found.passages[0].score >= found.passages[1].score
        asked_for = run_client(server.address, "search", "what is the gate storm signal?", "--rerank", cwd=tmp_path)
        if name == "with":
            asked_for.assert_ok()
        else:
            asked_for.assert_refused("rerank: this server has no cross-encoder")
        assert measured(server, tmp_path, "--no-rerank") == 1.0
        assert measured(server, tmp_path) == {"without": 1.0, "with": 0.5}[name]
        # A bare name is looked up, not read.
        assert not any(prior.name == "cross_encoder" for one in named.passages for prior in one.priors)
        server.stop()
    assert orders == {"without": ["first.md", "second.md"], "with": ["second.md", "first.md"]}


def test_a_missing_or_wrong_file_is_one_line_at_the_start(tmp_path: Path):
    path = tmp_path / "model.onnx"
    settings = {"GROUNDWIRE_CROSS_ENCODER": str(path), "GROUNDWIRE_LEXICAL_ONLY": "true"}
    assert "tokenizer.json" in start_refused("retrieval-server", tmp_path, **settings).stderr
    write_tokenizer(tmp_path)
    missing = start_refused("retrieval-server", tmp_path, **settings).stderr
    assert "model.onnx" in missing
    assert "GROUNDWIRE_CROSS_ENCODER" in missing
    path.write_bytes(b"no model")
    assert "not a usable cross-encoder" in start_refused("retrieval-server", tmp_path, **settings).stderr
