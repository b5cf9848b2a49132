"""The rules for migrations after the first version."""

import pytest
from django.db import migrations, models
from django.db.migrations import Migration
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ProjectState

from annotator.services.database.online import AddIndexOnline
from scripts import migration_rules
from scripts.migration_rules import problems_of

INDEX = models.Index(fields=["title"], name="draft_by_title")
POSITIVE = models.CheckConstraint(condition=models.Q(version__gte=0), name="draft_positive")


def nothing(apps: object, editor: object) -> None:
    """Move no data."""


@pytest.fixture(scope="module")
def before() -> ProjectState:
    return MigrationLoader(None).project_state()


def found(before: ProjectState, *operations: object, **attributes: object) -> list[str]:
    migration = type("Migration", (Migration,), {"operations": list(operations), **attributes})("0099_x", "annotator")
    return list(problems_of(migration, before))


@pytest.mark.parametrize(
    ("operation", "words"),
    [
        (migrations.AddField("draft", "note", models.TextField(default="")), "Make it nullable"),
        (migrations.RemoveField("draft", "version"), "still uses it"),
        (migrations.RenameField("draft", "version", "number"), "still uses it"),
        (migrations.DeleteModel("DailySize"), "still uses it"),
        (migrations.AlterField("dailysize", "date", models.DateTimeField()), "locks the table"),
        (migrations.AlterField("installedversion", "version", models.CharField(max_length=9, unique=True)), "locks"),
        (migrations.AddConstraint("draft", POSITIVE), "locks the table"),
        (migrations.AddIndex("draft", INDEX), "Use annotator.services.database.online.AddIndexOnline"),
        (AddIndexOnline("draft", INDEX), "migration of its own"),
        (migrations.RunPython(nothing), "cannot be undone"),
        (migrations.RunSQL("SELECT 1", "SELECT 1"), "Say why it is safe"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_what_would_disturb_the_version_before_is_found(before: ProjectState, operation: object, words: str) -> None:
    [sentence] = found(before, operation)
    assert words in sentence
    name = sentence.partition(":")[0]  # as the sentence names it
    assert found(before, operation, reviewed={name: "unused since 0.2.0"}) == []


def test_what_is_safe_passes(before: ProjectState) -> None:
    longer = models.CharField(max_length=40, unique=True, help_text="of Assay")
    assert found(before, migrations.AlterField("installedversion", "version", longer)) == []
    assert found(before, migrations.AddField("draft", "note", models.TextField(null=True))) == []
    assert found(before, AddIndexOnline("draft", INDEX), atomic=False) == []
    assert found(before, migrations.RunPython(nothing, nothing)) == []
    table = migrations.CreateModel(
        "Shelf", [("id", models.BigAutoField(primary_key=True)), ("title", models.TextField())]
    )
    assert found(before, table, migrations.AddIndex("shelf", INDEX)) == []


def test_data_and_tables_are_changed_by_different_migrations(before: ProjectState) -> None:
    field = migrations.AddField("draft", "note", models.TextField(null=True))
    [sentence] = found(before, field, migrations.RunPython(nothing, nothing))
    assert "Make two migrations" in sentence


def test_a_reason_without_its_operation_is_a_problem(before: ProjectState) -> None:
    [sentence] = found(before, reviewed={"RemoveField draft.gone": "unused"})
    assert "RemoveField draft.gone" in sentence


def test_the_migrations_that_exist_pass() -> None:
    assert list(migration_rules.problems()) == []
