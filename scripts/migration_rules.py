"""Check that new migrations are safe while the version before them still serves, and that they can be undone.

    python -m scripts.migration_rules

Django's operations are looked at, not SQL, so this needs no database, and knows that SQLite rebuilds tables and loses
their triggers. An operation that breaks a rule for a good reason is named in its migration, with the reason, in a
``reviewed`` attribute: ``reviewed = {"RemoveField draft.note": "unused since 0.2.0"}``.
"""

import os
import sys
from collections.abc import Iterator
from typing import Any

import django
from django.db.migrations import Migration, operations
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState

from annotator.services.database.online import AddIndexOnline

#: The last migration of each application that was not checked: the state of the first version.
FIRST = {"annotator": "0036", "reviews": "0019", "benchmark": "0028"}

_IN_USE = "the version before still uses it. Remove its uses in one version, and the column or table in the next"
_LOCKS = (
    "PostgreSQL locks the table while it reads all rows, SQLite builds the table again without its triggers, and what "
    "the version before writes may be refused"
)


def problems() -> Iterator[str]:
    """Yield what is wrong with the migrations after ``FIRST``, as sentences."""
    loader = MigrationLoader(None)
    for (label, name), migration in sorted(loader.disk_migrations.items()):
        if label in FIRST and name > FIRST[label] + "~":
            before = loader.project_state([parent.key for parent in loader.graph.node_map[label, name].parents])
            yield from (f"{label}/migrations/{name}.py: {problem}" for problem in problems_of(migration, before))


def problems_of(migration: Migration, before: ProjectState) -> Iterator[str]:
    """Yield what is wrong with one migration. ``before``: the state before it."""
    reviewed = dict(getattr(migration, "reviewed", {}))
    created: set[str] = set()
    state = before.clone()
    moves_data = [one for one in migration.operations if isinstance(one, operations.RunPython | operations.RunSQL)]
    if moves_data and len(moves_data) < len(migration.operations):
        yield "it changes tables and moves data. Make two migrations, so that no lock is held while data moves."
    for operation in migration.operations:
        name = name_of(operation)
        if isinstance(operation, operations.CreateModel):
            created.add(operation.name_lower)
        found = None if getattr(operation, "model_name_lower", "") in created else _problem(operation, state, migration)
        if not operation.reversible:
            found = "it cannot be undone. Give it a reverse"
        operation.state_forwards(migration.app_label, state)
        if found and reviewed.pop(name, "") == "":
            yield f"{name}: {found}."
    yield from (f"`reviewed` names {name}, which needs no reason or does not exist." for name in reviewed)


def name_of(operation: Operation) -> str:
    """Return how ``reviewed`` names an operation, such as “AddField draft.note”."""
    part = getattr(operation, "constraint", None) or getattr(operation, "index", None)
    own = part.name if part else getattr(operation, "name", "") or getattr(operation, "old_name", "")
    parts = [getattr(operation, "model_name", ""), own]
    return f"{type(operation).__name__} {'.'.join(filter(None, parts))}".strip()


def _problem(operation: Any, state: ProjectState, migration: Migration) -> str | None:
    """Return why an operation on an existing table is not safe; None: it is."""
    match operation:
        case operations.RemoveField() | operations.DeleteModel() | operations.RenameField() | operations.RenameModel():
            return _IN_USE
        case operations.AlterModelTable() | operations.AlterUniqueTogether() | operations.AlterIndexTogether():
            return _IN_USE
        case operations.AddField(field=field):
            if field.many_to_many or field.null:
                return None
            return "the version before writes rows without it, and SQLite rebuilds the table. Make it nullable"
        case operations.AlterField(field=field, model_name_lower=model):
            old = state.models[migration.app_label, model].fields[operation.name]
            return None if _same_column(old, field) else _LOCKS
        case operations.AddConstraint() | operations.RemoveConstraint():
            return _LOCKS
        case AddIndexOnline():
            alone = not migration.atomic and len(migration.operations) == 1
            return None if alone else "it needs a migration of its own with atomic = False"
        case operations.AddIndex():
            return "nothing can be written while it is built. Use annotator.services.database.online.AddIndexOnline"
        case operations.RunSQL() | operations.SeparateDatabaseAndState():
            return "nothing here can check it. Say why it is safe"
    return None


def _same_column(old: Any, new: Any) -> bool:
    """Return whether two fields differ only in what the database does not know."""
    was, now = (
        (kind, args, {name: value for name, value in options.items() if name not in old.non_db_attrs})
        for _name, kind, args, options in (old.deconstruct(), new.deconstruct())
    )
    return bool(was == now)


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotator.config.settings")
    django.setup()
    found = list(problems())
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
