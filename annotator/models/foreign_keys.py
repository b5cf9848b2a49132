"""Options of foreign keys."""

from typing import Any

from django.db import models

#: A key that the database neither indexes nor checks, mostly a copy of another row's. The models say why.
UNENFORCED: dict[str, Any] = {"on_delete": models.PROTECT, "db_index": False, "db_constraint": False}
