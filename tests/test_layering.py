"""The house has floors: every module imports only from the rooms below its own.

The rules below over the source text of every module; function-local imports count.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "scrapy_freshness"
MODULES = sorted(PACKAGE.rglob("*.py"))

NUMBERS = {"model", "config", "errors", "units"}  # the ground floor without the clock
GROUND = NUMBERS | {"clock", "compressed"}
PURE = {"content", "estimation", "value", "pacing", "signals", "sources", "search"}
MAY_IMPORT = {
    "errors": set(),
    "units": {"errors"},
    "clock": set(),
    "compressed": {"errors"},
    "model": set(),
    "config": {"errors", "units"},
    "content": NUMBERS,
    "estimation": NUMBERS,
    "value": NUMBERS,
    "pacing": NUMBERS | {"value"},
    "signals": NUMBERS,
    "sources": NUMBERS | {"signals", "content"},  # addresses and HTML as strangers write them
    "search": NUMBERS | {"content"},
    "planning": NUMBERS | PURE,
    "simulator": GROUND | PURE | {"planning"},
    "storage": GROUND,
    "imports": GROUND | {"content", "signals", "estimation", "storage", "planning"},
    "crawl": GROUND | PURE | {"planning", "storage", "imports"},
    "insight": GROUND | PURE | {"planning", "simulator", "storage"},
    "dashboard": GROUND | PURE | {"planning", "simulator", "storage", "insight"},
    "commands": GROUND
    | PURE
    | {"planning", "simulator", "storage", "imports", "crawl", "insight", "dashboard"},
    "__init__": {"crawl"},
}
ONLY_IN = {
    "scrapy": {"crawl", "commands"},
    "twisted": {"crawl", "commands"},
    "sqlalchemy": {"storage"},
    "alembic": {"storage"},
    "lxml": {"signals"},
    "feedparser": {"signals"},
    "selectolax": {"content", "signals", "sources"},
    "tldextract": {"sources"},
    "starlette": {"dashboard"},
    "uvicorn": {"dashboard"},
    "jinja2": {"dashboard"},
    "re2": {"dashboard"},
}
#: What tells the time or does I/O has no place in the pure rooms and in what decides.
CLOCKS = {"time", "datetime", "asyncio", "threading", "socket", "sqlite3"}
NETWORK = {"urllib.request", "http.client", "ssl", "ftplib", "requests", "urllib3"}


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 2 else parts)


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


@cache
def imports_of(path: Path, *, at_run_time: bool = False) -> tuple[str, ...]:
    """Dotted names of everything a module imports; of `from a import b` both a and a.b."""
    return tuple(_imports(path, at_run_time))


def _imports(path: Path, at_run_time: bool) -> Iterator[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = set()
    if at_run_time:
        for node in ast.walk(tree):
            if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
                skipped.update(id(inner) for part in node.body for inner in ast.walk(part))
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import in line {node.lineno}"
            assert node.module is not None
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_module_imports_only_from_the_rooms_below(path: Path) -> None:
    room = room_of(path)
    for module in imports_of(path):
        top, _, rest = module.partition(".")
        if top == "scrapy_freshness" and rest:
            below = rest.split(".")[0]
            assert below == room or below in MAY_IMPORT[room], f"{room} must not import {module}"


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_foreign_libraries_stay_in_their_rooms(path: Path) -> None:
    for module in imports_of(path):
        top = module.split(".")[0]
        assert room_of(path) in ONLY_IN.get(top, {room_of(path)}), f"{module} has no place here"


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_nothing_that_is_pure_or_decides_knows_the_time_or_does_io(path: Path) -> None:
    if room_of(path) in PURE | {"planning", "simulator", "model", "config", "units", "errors"}:
        modules = set(imports_of(path))
        assert not {module.split(".")[0] for module in modules} & CLOCKS
        assert not modules & NETWORK


def test_feedparser_is_imported_only_when_a_feed_is_read() -> None:
    """It takes a tenth of a second, and brings what opens connections."""
    for path in MODULES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        top_level = {alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names}
        assert "feedparser" not in top_level


def test_importing_the_package_imports_only_the_addon() -> None:
    ours = {module for module in imports_of(PACKAGE / "__init__.py") if module.startswith("scrapy_freshness")}

    assert ours == {"scrapy_freshness.crawl.addon", "scrapy_freshness.crawl.addon.Addon"}


@pytest.mark.parametrize("name", ["crawl/addon.py", "crawl/__init__.py", "__init__.py"])
def test_the_addon_is_imported_without_scrapy(name: str) -> None:
    """Scrapy reads ADDONS before it chooses a reactor; the add-on must not choose one by importing."""
    tops = {module.split(".")[0] for module in imports_of(PACKAGE / name, at_run_time=True)}

    assert not tops & {"scrapy", "twisted", "sqlalchemy", "numpy", "scipy"}


def test_there_is_no_cycle_between_modules() -> None:
    names = {module_name(path): path for path in MODULES}
    below = {name: {m for m in imports_of(path) if m in names} - {name} for name, path in names.items()}
    while free := [name for name, needed in below.items() if not needed]:
        for name in free:
            del below[name]
        for needed in below.values():
            needed.difference_update(free)

    assert below == {}


def test_every_room_has_rules() -> None:
    assert {room_of(path) for path in MODULES} <= set(MAY_IMPORT)
