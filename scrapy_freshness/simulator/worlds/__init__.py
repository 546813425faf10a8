"""The worlds in which policies are tried: a module each, with what `contract.World` asks for.

A module is found by its name, which is the name of the world: a new one needs no registration.
"""

import importlib
import pkgutil

from scrapy_freshness.errors import ConfigError
from scrapy_freshness.simulator.worlds.contract import World


def world_names() -> tuple[str, ...]:
    """Names of all worlds.

    >>> {"cost", "longevity", "poisson"} <= set(world_names())
    True
    """
    modules = (module.name for module in pkgutil.iter_modules(__path__))
    return tuple(sorted(name for name in modules if name != "contract"))


def world_named(name: str) -> type[World]:
    """The class of a world; its options are fields.

    >>> world_named("poisson").time_unit
    'days'
    """
    if name not in world_names():
        raise ConfigError(f"there is no world {name!r}: choose one of {', '.join(world_names())}")
    world: type[World] = importlib.import_module(f"{__name__}.{name}").WORLD
    return world
