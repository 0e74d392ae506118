"""The real worker process around the scripted engine: `python -m tests.generation_worker.scripted_worker`."""

import asyncio

from generation_worker.backends.ordered import GuardedBackend, OrderedBackends
from generation_worker.engine_thread import EngineThread
from generation_worker.settings import WorkerSettings
from generation_worker.worker import run_worker
from groundwire.logs import configure_logs
from tests.generation_worker.scripted_engine import ScriptedEngine

if __name__ == "__main__":
    settings = WorkerSettings()
    configure_logs("generation-worker", settings.log_level)
    backends = OrderedBackends([GuardedBackend(EngineThread(ScriptedEngine(settings.worker_slots)))])
    asyncio.run(run_worker(settings, backends))
