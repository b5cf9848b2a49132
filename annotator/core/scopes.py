"""What an API token may do. The roles of its owner limit it further."""

from collections.abc import Collection
from enum import StrEnum
from itertools import combinations


class Scope(StrEnum):
    """Scopes are independent, except that each includes ``read`` and ``administer`` includes all."""

    READ = "read"
    IMPORT = "import"
    ANNOTATE = "annotate"
    ADMINISTER = "administer"


#: The scopes between the two that include or are included.
_BETWEEN = (Scope.IMPORT, Scope.ANNOTATE)


def as_text(scopes: Collection[str]) -> str:
    """Return the one way to store scopes: the fewest words that mean them, in order, with spaces between."""
    if Scope.ADMINISTER in scopes:
        return Scope.ADMINISTER.value
    return " ".join(scope.value for scope in _BETWEEN if scope in scopes) or Scope.READ.value


def from_text(text: str) -> frozenset[Scope]:
    """Return all scopes that a stored text means."""
    stated = frozenset(map(Scope, text.split()))
    return frozenset(Scope) if Scope.ADMINISTER in stated else stated | {Scope.READ}


#: Every text that may be stored.
TEXTS = (
    Scope.READ.value,
    *(as_text(some) for size in (1, 2) for some in combinations(_BETWEEN, size)),
    Scope.ADMINISTER.value,
)
