"""Which databases can hold what people write."""

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Error, Tags, register
from django.db import connections


@register(Tags.database)
def check_encoding(*, databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """``migrate`` asks this first: in a database of another encoding a Chinese dialogue fails when it is stored."""
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
                    f"The database {name} has the encoding {encoding}, which does not hold every text.",
                    hint="Make it anew: createdb --template template0 --encoding UTF8 --locale C, then the name.",
                    id="annotator.E001",
                )
            )
    return found
