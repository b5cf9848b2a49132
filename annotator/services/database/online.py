"""Operations of migrations that let the old version go on with its work."""

from typing import Any

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations import AddIndex
from django.db.migrations.state import ProjectState


class AddIndexOnline(AddIndex):
    """Add an index to a table with rows. On PostgreSQL, the table can be written meanwhile.

    Its migration needs ``atomic = False`` and nothing else in it. An index that an earlier attempt left unfinished is
    built again.
    """

    atomic = False

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        if schema_editor.connection.vendor != "postgresql":
            super().database_forwards(app_label, schema_editor, from_state, to_state)
            return
        model = to_state.apps.get_model(app_label, self.model_name)
        if self.allow_migrate_model(schema_editor.connection.alias, model):
            editor: Any = schema_editor
            # Building waits for all earlier transactions, but blocks none of them.
            editor.execute("SET lock_timeout = 0")
            editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {editor.quote_name(self.index.name)}")
            editor.add_index(model, self.index, concurrently=True)
