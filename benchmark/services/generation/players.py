"""The models that play the roles of a generation that runs from recorded answers."""

from benchmark.core.generation.purposes import ROLE_OF, Purpose, Role
from benchmark.core.generation.records import Recorded
from benchmark.services.generation.requests import Player
from benchmark.services.inference.options import Options

#: Options that are parameters of a request, beside ``extra``.
PARAMETERS = ("temperature", "seed", "max_tokens")


def players_of(records: list[Recorded]) -> dict[Role, Player]:
    """Return the models that gave the answers, so that requests have the same hashes again."""
    found: dict[Role, Player] = {}
    for one in reversed(records):
        given = dict(one.parameters)
        named = {name: given.pop(name, None) for name in PARAMETERS}
        player = Player(one.model or "recorded", options=Options(**named, extra=given))
        for role in [ROLE_OF[Purpose(one.purpose)]] if one.purpose in set(Purpose) else Role:
            found[role] = player
    return dict.fromkeys(Role, next(iter(found.values()))) | found
