"""CorpusService and AdminService of the fake server."""

import hashlib

import grpc

from groundwire.v1 import (
    admin_service_pb2,
    admin_service_pb2_grpc,
    collection_pb2,
    corpus_service_pb2_grpc,
    document_pb2,
    error_pb2,
    sync_pb2,
)
from tests.client.fake_state import FakeState, abort, item_error


class Corpus(corpus_service_pb2_grpc.CorpusServiceServicer):
    def __init__(self, state: FakeState) -> None:
        self.state = state

    def RebuildCollection(self, request, context):
        yield from self.state.rebuild_steps

    def SyncDocuments(self, request_iterator, context):
        self.state.check_up(context)
        begin = next(request_iterator).begin
        self.state.begins.append(begin)
        if begin.collection == "nowhere":
            abort(context, grpc.StatusCode.NOT_FOUND, "there is no collection nowhere", reason="COLLECTION_NOT_FOUND")
        if begin.collection == "broken":
            failed = item_error(grpc.StatusCode.FAILED_PRECONDITION, error_pb2.ERROR_REASON_STORAGE_FAILED, "disk full")
            yield sync_pb2.SyncDocumentsResponse(summary=sync_pb2.SyncSummary(status=failed))
            return
        stored = self.state.stored.setdefault(begin.source, {})
        summary = sync_pb2.SyncSummary(index_generation=8, chunk_count=3, dense_coverage=self.state.dense_coverage)
        offered: set[str] = set()
        wanted: set[str] = set()
        parts: dict[str, bytes] = {}
        complete = False
        if self.state.ask_for:
            yield sync_pb2.SyncDocumentsResponse(wanted=sync_pb2.SyncWanted(relative_paths=self.state.ask_for))
        for request in request_iterator:
            kind = request.WhichOneof("message")
            if kind == "offer":
                for file in request.offer.files:
                    offered.add(file.relative_path)
                    if stored.get(file.relative_path) == file.sha256:
                        summary.unchanged_count += 1
                    elif not begin.dry_run:
                        wanted.add(file.relative_path)
                asked = sorted(wanted & {file.relative_path for file in request.offer.files})
                yield sync_pb2.SyncDocumentsResponse(wanted=sync_pb2.SyncWanted(relative_paths=asked))
            elif kind == "contents":
                self.state.contents_sizes.append(sum(len(part.data) for part in request.contents.parts))
                for part in request.contents.parts:
                    parts[part.relative_path] = parts.get(part.relative_path, b"") + part.data
                    if not part.last:
                        continue
                    wanted.discard(part.relative_path)
                    status = sync_pb2.SyncFileStatus(relative_path=part.relative_path)
                    content = parts.pop(part.relative_path)
                    if part.unreadable:
                        status.outcome, status.detail = sync_pb2.SYNC_FILE_OUTCOME_SKIPPED, "could not be read"
                        summary.skipped_count += 1
                    else:
                        known = part.relative_path in stored
                        status.outcome = (
                            sync_pb2.SYNC_FILE_OUTCOME_UPDATED if known else sync_pb2.SYNC_FILE_OUTCOME_ADDED
                        )
                        summary.updated_count += known
                        summary.added_count += not known
                        stored[part.relative_path] = hashlib.sha256(content).digest()
                        self.state.received[part.relative_path] = content
                    yield _outcome(status)
            elif kind == "offer_complete":
                complete = True
            progress = sync_pb2.SyncProgress(phase=sync_pb2.SYNC_PHASE_READING, done_count=1, total_count=len(offered))
            yield sync_pb2.SyncDocumentsResponse(progress=progress)
            if complete and not wanted:
                break
        if begin.prune:
            for path in sorted(set(stored) - offered):
                del stored[path]
                summary.removed_count += 1
                status = sync_pb2.SyncFileStatus(relative_path=path, outcome=sync_pb2.SYNC_FILE_OUTCOME_REMOVED)
                yield _outcome(status)
        yield sync_pb2.SyncDocumentsResponse(summary=summary)

    def GetCorpusStats(self, request, context):
        self.state.check_up(context)
        if request.collection == "nowhere":
            abort(context, grpc.StatusCode.NOT_FOUND, "there is no collection nowhere", reason="COLLECTION_NOT_FOUND")
        stats = collection_pb2.CorpusStats(
            collection=collection_pb2.Collection(
                name=request.collection or "default", index_generation=self.state.index_generation
            ),
            document_count=1,
            chunk_count=3,
            embeddable_chunk_count=100,
            embedded_chunk_count=int(100 * self.state.dense_coverage),
            dense_coverage=self.state.dense_coverage,
            vector_epoch=self.state.vector_epoch,
            encoder_problem=self.state.encoder_problem,
            sources=[collection_pb2.SourceStats(source="/src", display_prefix="", document_count=1)],
        )
        if self.state.dense_coverage < 1:  # vectors come with time
            self.state.dense_coverage = min(1.0, self.state.dense_coverage + 0.25)
        return collection_pb2.GetCorpusStatsResponse(stats=stats)

    def GetDocument(self, request, context):
        self.state.check_up(context)
        if request.path not in self.state.documents:
            abort(
                context,
                grpc.StatusCode.NOT_FOUND,
                f"there is no document {request.path}",
                reason="DOCUMENT_NOT_FOUND",
                metadata={"path": request.path},
            )
        text = self.state.documents[request.path]
        return document_pb2.GetDocumentResponse(
            document=document_pb2.Document(path=request.path, language="text", text=text)
        )

    def ListCollections(self, request, context):
        self.state.check_up(context)
        names = {"": (self.state.first_collection, "more"), "more": ("default", "")}
        name, token = names[request.page_token]
        return collection_pb2.ListCollectionsResponse(
            collections=[collection_pb2.Collection(name=name)], next_page_token=token
        )


def _outcome(status):
    progress = sync_pb2.SyncProgress(phase=sync_pb2.SYNC_PHASE_READING, files=[status])
    return sync_pb2.SyncDocumentsResponse(progress=progress)


class Admin(admin_service_pb2_grpc.AdminServiceServicer):
    def __init__(self, state: FakeState) -> None:
        self.state = state

    def GetSettings(self, request, context):
        return admin_service_pb2.GetSettingsResponse(version="0.1.0", settings={"max_k": "1000"})

    def GetQueueStats(self, request, context):
        if not self.state.has_queue:
            abort(context, grpc.StatusCode.UNAVAILABLE, "Redis cannot be reached", reason="QUEUE_UNAVAILABLE")
        return admin_service_pb2.GetQueueStatsResponse(
            waiting_count=1,
            live_worker_count=self.state.live_worker_count,
            slot_count=self.state.live_worker_count,
            accepting_worker_count=0 if self.state.not_accepting_reason else self.state.live_worker_count,
            dead_letter_count=len(self.state.dead_letters),
        )

    def ListDeadLetters(self, request, context):
        """Pages of two."""
        first = int(request.page_token or 0)
        page = admin_service_pb2.ListDeadLettersResponse(
            next_page_token=str(first + 2) if len(self.state.dead_letters) > first + 2 else ""
        )
        for request_id in self.state.dead_letters[first : first + 2]:
            letter = page.dead_letters.add(
                request_id=request_id, crash_count=3, worker_id="w7", question="why\n?", replayable=True
            )
            letter.time.FromSeconds(1_700_000_000)
        return page

    def ReplayDeadLetter(self, request, context):
        if request.request_id not in self.state.dead_letters:
            abort(context, grpc.StatusCode.NOT_FOUND, "no dead letter has that request_id", reason="JOB_NOT_FOUND")
        self.state.dead_letters.remove(request.request_id)
        return admin_service_pb2.ReplayDeadLetterResponse()

    def PurgeDeadLetters(self, request, context):
        self.state.purges.append(request)
        chosen = [one for one in self.state.dead_letters if one in request.request_ids or not request.request_ids]
        self.state.dead_letters = [one for one in self.state.dead_letters if one not in chosen]
        return admin_service_pb2.PurgeDeadLettersResponse(purged_count=len(chosen))

    def ListWorkers(self, request, context):
        worker = admin_service_pb2.Worker(
            worker_id="w1", model="tiny", slot_count=8, running_count=3, version="0.1.0", context_tokens=8192
        )
        worker.uptime.FromSeconds(90)
        worker.not_accepting_reason = self.state.not_accepting_reason
        return admin_service_pb2.ListWorkersResponse(workers=[worker])
