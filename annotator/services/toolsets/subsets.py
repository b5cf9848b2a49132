"""Choose functions for a scenario from one toolset, or from all toolsets of a category."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotator.core.schema.canonical import canonical
from annotator.core.schema.exact_json import load_stored
from annotator.core.schema.toolsets import MAX_TOOLS
from annotator.core.tools.choosing import CannotChoose, choose_tools
from annotator.core.tools.feeds import Feed, find_feeds
from annotator.errors import Invalid
from annotator.models import Toolset
from annotator.services.toolsets.details import newest
from annotator.translation import translated


@dataclass(frozen=True, slots=True)
class Subset:
    """Chosen functions. ``feeds``: what they give each other; ``of``: how many they were chosen from.

    ``left_out``: names that several toolsets have, each with another function; the first one counts.
    """

    tools: list[dict[str, Any]]
    feeds: list[Feed]
    of: int
    left_out: list[str]


def choose_subset(
    toolsets: QuerySet[Toolset], *, count: int, seed: str, must: Iterable[str] = (), connected: bool = True
) -> Subset:
    """Choose ``count`` functions of the newest revisions of toolsets, the same ones for the same seed.

    With ``connected``, each feeds another one or is fed by it, as far as there are such functions. Raises Invalid with
    the field if the toolsets have too many functions, or the choice is impossible.
    """
    tools: dict[str, dict[str, Any]] = {}
    left_out: list[str] = []
    for toolset in toolsets.select_related("head").order_by("name").iterator(chunk_size=20):
        for tool in newest(toolset).tools():
            name = tool.get("function", tool)["name"]
            if tools.setdefault(name, tool) != tool:
                left_out.append(name)
        if len(tools) > MAX_TOOLS:
            sentence = _("These toolsets have more than %(limit)s functions. Choose fewer toolsets.")
            raise Invalid(sentence % {"limit": MAX_TOOLS}, field="toolset")
    if not tools:
        raise Invalid(_("There are no functions to choose from."), field="toolset")
    feeds = feeds_of(canonical(list(tools.values())))
    try:
        names = choose_tools(list(tools), feeds, count=count, seed=seed, must=must, connected=connected)
    except CannotChoose as problem:
        raise Invalid(translated(problem.message), field="must") from None
    chosen = set(names)
    inside = [feed for feed in feeds if feed.source in chosen and feed.target in chosen]
    return Subset([tools[name] for name in names], inside, len(tools), list(dict.fromkeys(left_out)))


@lru_cache(maxsize=8)
def feeds_of(tools: str) -> tuple[Feed, ...]:
    """Return what feeds what among tools as JSON text."""
    return tuple(find_feeds(load_stored(tools)))
