"""CorpusService, put together of its parts."""

from retrieval_server.api.collections_servicer import CollectionsServicer
from retrieval_server.api.documents_servicer import DocumentsServicer
from retrieval_server.api.rebuild_servicer import RebuildServicer
from retrieval_server.api.snapshots_servicer import SnapshotsServicer
from retrieval_server.api.synonyms_servicer import SynonymsServicer
from retrieval_server.corpus.catalog import Catalog
from retrieval_server.corpus.snapshotting import Snapshotting
from retrieval_server.settings import ServerSettings


class CorpusServicer(CollectionsServicer, DocumentsServicer, RebuildServicer, SnapshotsServicer, SynonymsServicer):
    """Holds collections. The RPCs that no part has keep the stub's default, which is answered UNIMPLEMENTED."""

    def __init__(
        self, catalog: Catalog, snapshotting: Snapshotting, encoder_label: str, settings: ServerSettings
    ) -> None:
        super().__init__(catalog, encoder_label, settings)
        self._snapshotting = snapshotting
