"""Everything that scrapy-freshness raises on purpose."""


class FreshnessError(Exception):
    """Any error of scrapy-freshness; its text is one line that a user can act on."""


class ConfigError(FreshnessError, ValueError):
    """A setting has a value that cannot be used; names the setting, the value and the remedy."""


class StorageError(FreshnessError):
    """The database cannot be opened, read or written."""


class SchemaError(StorageError):
    """The database has a schema that this version does not know."""


class LockedError(StorageError):
    """Another crawl is using the database."""
