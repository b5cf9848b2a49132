"""A system check for the encoding of PostgreSQL databases."""

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Error, Tags, register
from django.db import connections


@register(Tags.database)
def check_encoding(*, databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """Report databases that are not in UTF-8, which can't store Chinese text. ``migrate`` runs this first."""
    found: list[CheckMessage] = []
    for alias in databases or ():
        database = connections[alias]
        if database.vendor != "postgresql":
            continue
        database.ensure_connection()
        encoding = database.connection.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            name = database.settings_dict["NAME"]
            found.append(
                Error(
                    f"The database {name} has the encoding {encoding}, which can't store every text.",
                    hint=f"Create it again: createdb --template template0 --encoding UTF8 --locale C {name}",
                    id="annotator.E001",
                )
            )
    return found
