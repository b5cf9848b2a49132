"""The models that play the roles of all attempts of a sampling, as JSON."""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

from annotator.models import Project
from benchmark.core.generation.purposes import Role
from benchmark.models import Endpoint
from benchmark.services.generation.requests import Player
from benchmark.services.inference.options import Options


def players_to_json(players: Mapping[Role, Player]) -> dict[str, Any]:
    """Return what ``players_from_json`` reads."""
    return {
        role.value: {
            "model": one.model, "endpoint": one.endpoint.public_id if one.endpoint else None,
            "options": one.options.as_json(), "prices": [str(one.input_price), str(one.output_price)],
        }
        for role, one in players.items()
    }  # fmt: skip


def players_from_json(project: Project, stored: Mapping[str, Any], attempt: int) -> dict[Role, Player]:
    """Return the players of an attempt, from 1. A seed among their options is another one for each attempt."""
    found = {}
    for role, one in stored.items():
        endpoint = one["endpoint"] and Endpoint.objects.get(project=project, public_id=one["endpoint"])
        options = Options.of(one["options"])
        if options.seed is not None:
            options = replace(options, seed=options.seed + attempt - 1)
        found[Role(role)] = Player(one["model"], endpoint, options, *map(Decimal, one["prices"]))
    return found
