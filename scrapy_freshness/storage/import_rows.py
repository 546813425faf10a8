"""How far files have been imported."""

import json

from sqlalchemy import Connection, insert, select, update

from scrapy_freshness.model import ImportProgress
from scrapy_freshness.storage.rows import clean, number
from scrapy_freshness.storage.schema import import_file


def load_imports(connection: Connection, kind: str) -> list[ImportProgress]:
    """All imports of a kind, oldest first."""
    query = select(import_file).where(import_file.c.kind == kind).order_by(import_file.c.id)
    return [
        ImportProgress(
            import_id=row["id"],
            kind=row["kind"],
            name=row["name"],
            format=row["format"],
            head_bytes=row["head_bytes"],
            head_digest=bytes(row["head_digest"]),
            position=row["position"],
            digest=bytes(row["digest"]),
            lines=row["lines"],
            bad=json.loads(row["bad"]),
            counts=json.loads(row["counts"]),
            is_done=bool(row["is_done"]),
            started_at=row["started_at"],
            updated_at=row["updated_at"],
        )
        for row in connection.execute(query).mappings()
    ]


def write_import(connection: Connection, progress: ImportProgress) -> None:
    """Write how far an import has come; one that is written for the first time gets its number."""
    values = {
        "kind": progress.kind,
        "name": clean(progress.name),
        "format": progress.format,
        "head_bytes": progress.head_bytes,
        "head_digest": progress.head_digest,
        "position": progress.position,
        "digest": progress.digest,
        "lines": progress.lines,
        "bad": json.dumps(progress.bad),
        "counts": json.dumps(progress.counts),
        "is_done": progress.is_done,
        "started_at": number(progress.started_at),
        "updated_at": number(progress.updated_at),
    }
    if progress.import_id is None:
        written = connection.execute(insert(import_file).values(values).returning(import_file.c.id))
        progress.import_id = written.scalar_one()
    else:
        this = import_file.c.id == progress.import_id
        connection.execute(update(import_file).where(this).values(values))
