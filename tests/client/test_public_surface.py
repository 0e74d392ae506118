"""What the package shows, and what importing it costs."""

import dataclasses
import inspect
import json
import resource
import subprocess
import sys

import client
from client import AsyncClient, Client

SERVER_PACKAGES = {
    "numpy",
    "structlog",
    "redis",
    "tantivy",
    "onnxruntime",
    "tokenizers",
    "pydantic",
    "llama_cpp",
    "retrieval_server",
    "generation_worker",
}
CLIENT_METHODS = {
    "answer",
    "answer_many",
    "attach_answer",
    "cancel_answer",
    "close",
    "collections",
    "synonyms",
    "put_synonyms",
    "corpus_stats",
    "create_collection",
    "create_snapshot",
    "dead_letters",
    "delete_collection",
    "delete_document",
    "delete_documents",
    "delete_documents_by_filter",
    "delete_snapshot",
    "evaluate_retrieval",
    "get_collection",
    "get_document",
    "get_original",
    "health",
    "index",
    "list_documents",
    "purge_dead_letters",
    "put_document",
    "queue_stats",
    "rebuild_collection",
    "reset_tuned_fusion",
    "restore_snapshot",
    "replay_dead_letter",
    "retrieve",
    "retrieve_many",
    "server",
    "server_settings",
    "snapshots",
    "stream_answer",
    "tune_fusion",
    "tuned_fusion",
    "update_document",
    "workers",
}


def loaded_modules(code: str) -> set[str]:
    shown = "import json, sys; print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"
    done = subprocess.run([sys.executable, "-c", f"{code}\n{shown}"], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def test_all_lists_every_public_name_in_order_and_every_name_is_there():
    assert client.__all__ == sorted(client.__all__, key=lambda name: (not name.isupper(), name))
    for name in client.__all__:
        assert getattr(client, name) is not None
    assert {"Client", "AsyncClient", "ClientError", "Passage", "RetrieveResult", "AnswerEvent"} <= set(client.__all__)


def test_a_name_that_is_not_there_is_an_attribute_error():
    assert not hasattr(client, "nothing_of_the_kind")


def test_every_error_class_is_public():
    from client import errors

    classes = {
        name for name, value in vars(errors).items() if inspect.isclass(value) and value.__module__ == "client.errors"
    }
    assert classes <= set(client.__all__)


def test_every_result_is_a_frozen_dataclass():
    for name in client.__all__:
        value = getattr(client, name)
        if dataclasses.is_dataclass(value):
            assert value.__dataclass_params__.frozen, name


def test_both_clients_have_the_same_methods():
    assert {name for name in dir(AsyncClient) if not name.startswith("_")} == CLIENT_METHODS
    assert {name for name in dir(Client) if not name.startswith("_")} == CLIENT_METHODS


def test_the_synchronous_methods_keep_signature_and_documentation():
    assert inspect.signature(Client.retrieve) == inspect.signature(AsyncClient.retrieve)
    assert Client.stream_answer.__doc__ == AsyncClient.stream_answer.__doc__


def test_the_library_loads_no_server_package():
    loaded = loaded_modules("import client\nclient.Client('127.0.0.1:1').close()\nclient.AsyncClient()")
    assert "grpc" in loaded
    assert not loaded & SERVER_PACKAGES


def test_help_loads_neither_grpc_nor_a_server_package():
    loaded = loaded_modules(
        "import contextlib, io\n"
        "from client.cli.group import cli\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):\n"
        "    cli.main(['--help'], prog_name='client')"
    )
    assert "click" in loaded
    assert not loaded & (SERVER_PACKAGES | {"grpc", "google", "tqdm", "pathspec", "asyncio"})


def test_help_is_shown_at_once():
    """It takes little more than what shows it, on any machine and whatever else that one does."""
    assert least_cpu_s("-m", "client", "--help") < 4 * least_cpu_s("-c", "import click")


def least_cpu_s(*arguments: str) -> float:
    """Processor time of the best of several runs."""
    times_s = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times_s.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times_s)
