"""Structured records: JSON whose objects have a topic with a list or details, cut by what is asked of them."""

from retrieval_server.corpus.documents.records.record_chunks import RecordChunk, RecordFile, read_record_file

__all__ = ["RecordChunk", "RecordFile", "read_record_file"]
