"""client docs: documents one by one."""

from __future__ import annotations  # the library's names in signatures would load all of gRPC

import os
import sys

import click

import client
from client.cli.docs_filter import filter_options, passage_filter
from client.cli.docs_values import metadata_of, shown_value
from client.cli.input_file import STDIN, read_input
from client.cli.invocation import Invocation, collection_option, shared_options
from client.cli.output import counted, print_json, printable_name

_id_option = click.option("--id", "document_id", metavar="ID", help="The document's id, instead of its path.")
_title_option = click.option("--title", metavar="TEXT", help="What it is called.")
_url_option = click.option("--url", metavar="URL", help="Where people find it.")
_meta_option = click.option(
    "--meta", multiple=True, metavar="KEY=VALUE", help="Metadata: a number, a time, a text; given again, a list."
)
_etag_option = click.option("--etag", metavar="ETAG", help="Only if this is still its version.")


@click.group("docs", short_help="Put, get, list, change and remove documents.")
def docs_command() -> None:
    """Work with single documents of a collection."""


@docs_command.command("ls", short_help="List documents.")
@click.argument("globs", nargs=-1, metavar="[GLOB]…")
@filter_options
@collection_option
@shared_options
def list_command(
    invocation: Invocation,
    globs: tuple[str, ...],
    *,
    collection: str,
    exclude: tuple[str, ...],
    language: tuple[str, ...],
    kind: tuple[str, ...],
    contains: tuple[str, ...],
    where: tuple[str, ...],
) -> None:
    """List the documents whose display paths match a GLOB (`**` crosses folders); by default all."""
    wanted = passage_filter(globs, exclude, language, kind, contains, where)
    count = 0
    with invocation.connect() as server, server.list_documents(wanted, collection=collection) as found:
        for document in found:
            count += 1
            if invocation.as_json:
                print_json(document)
            else:
                title = f"  {printable_name(document.title)}" if document.title else ""
                click.echo(
                    f"{printable_name(document.path)}  {document.language}, {document.char_count:,} chars{title}"
                )
    if not invocation.as_json:
        click.echo(counted(count, "document"))


@docs_command.command("get", short_help="Show one document.")
@click.argument("path", required=False)
@_id_option
@click.option("--original", is_flag=True, help="Write the bytes that it was made of, and nothing else.")
@click.option("--text", is_flag=True, help="Write the stored text, and nothing else.")
@collection_option
@shared_options
def get_command(
    invocation: Invocation, path: str | None, *, document_id: str | None, original: bool, text: bool, collection: str
) -> None:
    """Show what is known of the document at PATH, its display path."""
    if original and text:
        raise click.UsageError("--original and --text exclude each other")
    with invocation.connect() as server:
        document = _find(server, path, document_id, collection, include_text=text or invocation.as_json)
        if original:
            sys.stdout.buffer.write(server.get_original(document.document_id, collection=collection))
            sys.stdout.buffer.flush()
            return
    if text:
        click.echo(document.text, nl=False)
    elif invocation.as_json:
        print_json(document)
    else:
        _tell(document)


@docs_command.command("put", short_help="Add or replace one document.")
@click.argument("file", metavar="FILE")
@click.option("--path", metavar="PATH", help="Where it belongs within its source.  [default: FILE]")
@click.option("--source", default="", metavar="NAME", help="The source that it belongs to.  [default: api]")
@click.option("--media-type", metavar="TYPE", help="For example text/markdown.  [default: by its path]")
@_title_option
@_url_option
@_meta_option
@_etag_option
@click.option("--new", "must_be_new", is_flag=True, help="Refuse to replace one.")
@collection_option
@shared_options
def put_command(
    invocation: Invocation,
    file: str,
    *,
    path: str | None,
    source: str,
    media_type: str | None,
    title: str | None,
    url: str | None,
    meta: tuple[str, ...],
    etag: str | None,
    must_be_new: bool,
    collection: str,
) -> None:
    """Store FILE, or standard input for "-", and wait until it can be found.

    A document that its source has at PATH is replaced. Where only another source shows one, such as a folder that was
    indexed, nothing is stored until --source says what is meant: api keeps both; the other's name, with --path as it
    stands there, replaces that one until the folder is indexed again.
    """
    if file == STDIN and path is None:
        raise click.UsageError("standard input has no name: give it one with --path")
    path = path or os.path.normpath(file).replace(os.sep, "/")
    if path.startswith(("/", "../")):
        raise click.UsageError(
            f"{path} lies outside of this folder: say where it belongs within its source with --path"
        )
    content = read_input(file)
    with invocation.connect() as server:
        written = server.put_document(
            path,
            content,
            source=source,
            collection=collection,
            media_type=media_type,
            title=title,
            source_url=url,
            metadata=metadata_of(meta),
            etag=etag,
            must_be_new=must_be_new,
        )
    _tell_written(invocation, written, "stored")


@docs_command.command("update", short_help="Change what is set on one document.")
@click.argument("path", required=False)
@_id_option
@_title_option
@_url_option
@_meta_option
@click.option("--unset", multiple=True, metavar="NAME", help="Take away title, url or a metadata key. Repeatable.")
@_etag_option
@collection_option
@shared_options
def update_command(
    invocation: Invocation,
    path: str | None,
    *,
    document_id: str | None,
    title: str | None,
    url: str | None,
    meta: tuple[str, ...],
    unset: tuple[str, ...],
    etag: str | None,
    collection: str,
) -> None:
    """Change title, address or metadata of the document at PATH; its content stays."""
    changes: dict[str, client.MetadataValue | None] = {**metadata_of(meta)}
    changes |= {name: None for name in unset if name not in {"title", "url"}}
    if title is None and url is None and not changes and not unset:
        raise click.UsageError("nothing to change: give --title, --url, --meta or --unset")
    with invocation.connect() as server:
        found = _find(server, path, document_id, collection)
        written = server.update_document(
            found.document_id,
            collection=collection,
            title=None if "title" in unset else client.UNSET if title is None else title,
            source_url=None if "url" in unset else client.UNSET if url is None else url,
            metadata_changes=changes,
            etag=etag,
        )
    _tell_written(invocation, written, "changed")


@docs_command.command("rm", short_help="Remove documents.")
@click.argument("paths", nargs=-1, metavar="[PATH]…")
@click.option("--id", "document_ids", multiple=True, metavar="ID", help="A document's id. Repeatable.")
@click.option("--matching", multiple=True, metavar="GLOB", help="All whose display paths match. Repeatable.")
@click.option("--dry-run", is_flag=True, help="With --matching: count them and change nothing.")
@collection_option
@shared_options
def remove_command(
    invocation: Invocation,
    paths: tuple[str, ...],
    *,
    document_ids: tuple[str, ...],
    matching: tuple[str, ...],
    dry_run: bool,
    collection: str,
) -> None:
    """Remove the documents at these display paths."""
    if bool(matching) == bool(paths or document_ids):
        raise click.UsageError("name documents by PATH or --id, or many by --matching")
    if dry_run and not matching:
        raise click.UsageError("--dry-run is for --matching")
    with invocation.connect() as server:
        if matching:
            wanted = client.PassageFilter(include_paths=matching)
            count = server.delete_documents_by_filter(wanted, collection=collection, dry_run=dry_run).deleted_count
        else:
            ids = [*document_ids, *(_find(server, path, None, collection).document_id for path in paths)]
            outcomes = server.delete_documents(ids, collection=collection)
            count = sum(one.error is None for one in outcomes)
            for one in outcomes:
                if one.error is not None:
                    raise one.error
    if invocation.as_json:
        print_json({"deleted_count": count, "dry_run": dry_run})
    else:
        click.echo(f"{'would be ' if dry_run else ''}removed: {counted(count, 'document')}")


def _find(
    server: client.Client, path: str | None, document_id: str | None, collection: str, *, include_text: bool = False
) -> client.Document:
    if (path is None) == (document_id is None):
        raise click.UsageError("name the document by PATH or by --id")
    return server.get_document(path, document_id=document_id, collection=collection, include_text=include_text)


def _tell_written(invocation: Invocation, written: client.WrittenDocument, what: str) -> None:
    if invocation.as_json:
        print_json(written)
    else:
        click.echo(f"{what}: {printable_name(written.document.path)}, generation {written.index_generation}")


def _tell(document: client.Document) -> None:
    facts = {
        "path": document.path,
        "id": document.document_id,
        "source": document.key.source,
        "title": document.title,
        "url": document.source_url,
        "language": f"{document.language} ({document.kind.value})",
        "size": f"{document.char_count:,} chars, {document.line_count:,} lines, {document.original_bytes:,} bytes",
        "encoding": document.encoding,
        "created": shown_value(document.create_time),
        "changed": shown_value(document.update_time),
        "etag": document.etag,
        **{f"meta {key}": shown_value(value) for key, value in document.metadata.items()},
    }
    for name, value in facts.items():
        if value:
            click.echo(f"{printable_name(name)}: {printable_name(value)}")
