"""How far files have been imported."""

import json

from sqlalchemy import Connection, func, insert, select, update

from scrapy_freshness.errors import StorageError
from scrapy_freshness.model import ImportProgress
from scrapy_freshness.storage.rows import clean, number
from scrapy_freshness.storage.schema import import_file

_IMPORT_LOCK = 0x494D504F  # any number will do; "IMPO"


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
            saved_position=row["position"],
        )
        for row in connection.execute(query).mappings()
    ]


def write_import(connection: Connection, progress: ImportProgress) -> None:
    """Write how far an import has come; one that is written for the first time gets its number.

    Raises `StorageError` if somebody else imports the same file: its lines would count twice.
    """
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
        if connection.dialect.name == "postgresql":  # SQLite's transaction is exclusive already
            connection.execute(select(func.pg_advisory_xact_lock(_IMPORT_LOCK)))
        alike = [import_file.c[name] == values[name] for name in ("kind", "head_bytes", "head_digest")]
        n_alike = connection.scalar(select(func.count()).select_from(import_file).where(*alike))
        _refuse_another(progress, n_alike == progress.alike)
        written = connection.execute(insert(import_file).values(values).returning(import_file.c.id))
        progress.import_id = written.scalar_one()
    else:
        this = import_file.c.id == progress.import_id
        as_before = import_file.c.position == progress.saved_position
        n_rows = connection.execute(update(import_file).where(this, as_before).values(values)).rowcount
        _refuse_another(progress, n_rows == 1)


def _refuse_another(progress: ImportProgress, is_alone: bool) -> None:
    if not is_alone:
        raise StorageError(f"{progress.name} is being imported by another process")
