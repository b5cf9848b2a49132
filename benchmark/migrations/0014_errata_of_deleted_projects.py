"""The guard of errata lets those of a project go whose deletion has started, as that of events does."""

from django.db import migrations

_TABLE = "benchmark_erratum"
_CHANGES = (
    f"CREATE TRIGGER {_TABLE}_append_only BEFORE UPDATE{{or_delete}} ON {_TABLE} FOR EACH ROW "
    "EXECUTE FUNCTION annotator_refuse_change()"
)
_DROP = f"DROP TRIGGER {_TABLE}_append_only ON {_TABLE}"
_LET_PASS = [
    _DROP,
    _CHANGES.format(or_delete=""),
    "CREATE FUNCTION benchmark_refuse_erratum_deletion() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
    "IF NOT EXISTS (SELECT FROM annotator_projectdeletion d JOIN benchmark_release r ON r.project_id = d.project_key "
    "WHERE r.id = OLD.release_id AND d.started_at IS NOT NULL) "
    f"THEN RAISE EXCEPTION '{_TABLE} is append-only' USING ERRCODE = 'integrity_constraint_violation'; END IF; "
    "RETURN OLD; END $$",
    f"CREATE TRIGGER {_TABLE}_kept BEFORE DELETE ON {_TABLE} FOR EACH ROW "
    "EXECUTE FUNCTION benchmark_refuse_erratum_deletion()",
]
_KEEP = [
    f"DROP TRIGGER {_TABLE}_kept ON {_TABLE}",
    "DROP FUNCTION benchmark_refuse_erratum_deletion()",
    _DROP,
    _CHANGES.format(or_delete=" OR DELETE"),
]


def let_deletions_pass(apps, schema_editor):
    for statement in _LET_PASS if schema_editor.connection.vendor == "postgresql" else []:
        schema_editor.execute(statement, params=None)


def keep_all(apps, schema_editor):
    for statement in _KEEP if schema_editor.connection.vendor == "postgresql" else []:
        schema_editor.execute(statement, params=None)


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0015_project_deletions"),
        ("benchmark", "0013_suggestions_of_imports"),
    ]

    operations = [migrations.RunPython(let_deletions_pass, keep_all)]
