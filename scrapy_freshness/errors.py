"""Everything that scrapy-freshness raises on purpose."""


class FreshnessError(Exception):
    """Any error of scrapy-freshness; its text is one line that a user can act on."""


class ConfigError(FreshnessError, ValueError):
    """A setting has a value that cannot be used; names the setting, the value and the remedy."""


class InputError(FreshnessError):
    """What was handed to a command cannot be used: a file, a name or a number; its exit code is 2."""


class CompressionError(InputError):
    """A file is compressed in a way for which a package is missing; names the file and the package."""


class StorageError(FreshnessError):
    """The database cannot be opened, read or written."""


class SchemaError(StorageError):
    """The database has a schema that this version does not know."""


class LockedError(StorageError):
    """Another crawl is using the database."""


class TraceError(FreshnessError, ValueError):
    """A recorded history cannot be read or written; names the file, and the line where there is one."""


class PingError(FreshnessError, ValueError):
    """A ping cannot be accepted; `status` is the HTTP status that says so to its sender.

    `counted_as` is the word under which it appears in the stats.
    """

    def __init__(self, status: int, reason: str, counted_as: str = "malformed") -> None:
        super().__init__(reason)
        self.status = status
        self.counted_as = counted_as
