"""What a sync says of files at whose paths other sources show documents: both stay, and somebody ought to know."""

from collections.abc import Sequence

from retrieval_server.corpus.collection.open_collection import OpenCollection


async def shared_paths(
    opened: OpenCollection, source_key: str, display_prefix: str, relative_paths: Sequence[str]
) -> dict[str, str]:
    """Return what is to be said of those files of a source of which that is so, with the remedy."""
    found = await opened.read(lambda reader: reader.shown_elsewhere(source_key, display_prefix, relative_paths))
    return {
        path: f"source {other.source_key!r} shows a document at this path, too, and both are found: "
        f"`client docs rm --id {other.document_id} --collection {opened.name}` removes that one"
        for path, other in found.items()
    }
