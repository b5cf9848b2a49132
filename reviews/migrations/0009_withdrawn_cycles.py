"""Cycles that are withdrawn because sending back was undone, and who confirmed a change of many items.

The database refuses to change the result of an ended cycle. Only a superseded cycle can be active again, if all cycles
after it were withdrawn. On PostgreSQL, it also refuses claims and reviews of withdrawn cycles. Not on SQLite: a trigger
there must not name a table that later migrations rebuild.
"""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import Q

_STATES = ["active", "verified", "rejected", "superseded", "withdrawn"]
_LATER = (
    "EXISTS (SELECT 1 FROM reviews_cycle AS later WHERE later.dialogue_id = OLD.dialogue_id "
    "AND later.number > OLD.number AND later.state <> 'withdrawn')"
)
_ENDED = f"OLD.state <> 'active' AND NOT (OLD.state = 'superseded' AND NEW.state = 'active' AND NOT {_LATER})"
_RESULT = ("dialogue_id", "number", "state", "exit_revision_id")
_OLD, _NEW = (", ".join(f"{row}.{column}" for column in _RESULT) for row in ("OLD", "NEW"))
_WORKED_ON = (
    "EXISTS (SELECT 1 FROM reviews_claim JOIN reviews_slot ON reviews_slot.id = slot_id WHERE cycle_id = NEW.id) OR "
    "EXISTS (SELECT 1 FROM reviews_review JOIN reviews_slot ON reviews_slot.id = slot_id WHERE cycle_id = NEW.id)"
)
_WITHDRAWN = (
    "EXISTS (SELECT 1 FROM reviews_slot JOIN reviews_cycle ON reviews_cycle.id = cycle_id "
    "WHERE reviews_slot.id = NEW.slot_id AND reviews_cycle.state = 'withdrawn')"
)
_FUNCTION = "CREATE FUNCTION {}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {} RETURN NEW; END $$"
_RAISE = "IF {} THEN RAISE EXCEPTION '{}' USING ERRCODE = 'integrity_constraint_violation'; END IF; "
_GUARD = _RAISE.format(_ENDED, "a cycle that has ended does not change") + _RAISE.format(
    f"NEW.state = 'withdrawn' AND ({_WORKED_ON})", "a withdrawn cycle has no claims or reviews"
)

_POSTGRESQL = [
    _FUNCTION.format("reviews_guard_cycle", _GUARD),
    "CREATE TRIGGER reviews_cycle_kept BEFORE UPDATE ON reviews_cycle FOR EACH ROW "
    f"WHEN (({_OLD}) IS DISTINCT FROM ({_NEW})) EXECUTE FUNCTION reviews_guard_cycle()",
    _FUNCTION.format("reviews_refuse_withdrawn", _RAISE.format(_WITHDRAWN, "the cycle was withdrawn")),
    "CREATE TRIGGER reviews_claim_withdrawn BEFORE INSERT ON reviews_claim FOR EACH ROW "
    "EXECUTE FUNCTION reviews_refuse_withdrawn()",
    "CREATE TRIGGER reviews_review_withdrawn BEFORE INSERT ON reviews_review FOR EACH ROW "
    "EXECUTE FUNCTION reviews_refuse_withdrawn()",
]
_POSTGRESQL_BACK = [
    "DROP TRIGGER reviews_review_withdrawn ON reviews_review",
    "DROP TRIGGER reviews_claim_withdrawn ON reviews_claim",
    "DROP FUNCTION reviews_refuse_withdrawn()",
    "DROP TRIGGER reviews_cycle_kept ON reviews_cycle",
    "DROP FUNCTION reviews_guard_cycle()",
]
_CHANGED = " OR ".join(f"OLD.{column} IS NOT NEW.{column}" for column in _RESULT)
_SQLITE = [
    f"CREATE TRIGGER reviews_cycle_kept BEFORE UPDATE ON reviews_cycle WHEN ({_CHANGED}) AND {_ENDED} "
    "BEGIN SELECT RAISE(ABORT, 'a cycle that has ended does not change'); END",
]
_SQLITE_BACK = ["DROP TRIGGER reviews_cycle_kept"]


def refuse(apps, schema_editor):
    for statement in _POSTGRESQL if schema_editor.connection.vendor == "postgresql" else _SQLITE:
        schema_editor.execute(statement, params=None)


def accept(apps, schema_editor):
    for statement in _POSTGRESQL_BACK if schema_editor.connection.vendor == "postgresql" else _SQLITE_BACK:
        schema_editor.execute(statement, params=None)


def fill_confirmed_by(apps, schema_editor):
    """Name the person whose event recorded the confirmation."""
    events = apps.get_model("annotator", "Event").objects.filter(
        kind__in=["assignments.changed", "assignments.undone"], actor__isnull=False
    )
    for plan in apps.get_model("reviews", "AssignmentPlan").objects.filter(confirmed_at__isnull=False).only("pk"):
        by = events.filter(project=plan.project_id, after__plan=plan.public_id).values_list("actor", flat=True).first()
        plan.confirmed_by_id = by or plan.actor_id
        plan.save(update_fields=["confirmed_by"])
    # PostgreSQL changes no table with checks that still have to be made.
    schema_editor.connection.check_constraints()


def forget_withdrawn(apps, schema_editor):
    """Delete withdrawn cycles, which earlier code would take for the last ones. Nobody has worked on them."""
    cycles = apps.get_model("reviews", "Cycle").objects.filter(state="withdrawn")
    runs = apps.get_model("reviews", "StageRun").objects.filter(cycle__in=cycles)
    apps.get_model("reviews", "Comment").objects.filter(stage_run__in=runs).update(stage_run=None)
    # Raw: a migration that goes back does not know all related models.
    for rows in (apps.get_model("reviews", "Slot").objects.filter(cycle__in=cycles), runs, cycles):
        rows._raw_delete(schema_editor.connection.alias)
    schema_editor.connection.check_constraints()


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0020_dialogue_tags"),
        ("reviews", "0008_bulk_actions_and_undo"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RemoveConstraint(model_name="cycle", name="cycle_state_known"),
        migrations.AlterField(
            model_name="cycle",
            name="state",
            field=models.CharField(
                choices=[(state, state.capitalize()) for state in _STATES], default="active", max_length=12
            ),
        ),
        migrations.AddConstraint(
            model_name="cycle",
            constraint=models.CheckConstraint(condition=Q(("state__in", _STATES)), name="cycle_state_known"),
        ),
        migrations.AddField(
            model_name="assignmentplan",
            name="confirmed_by",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.RunPython(fill_confirmed_by, migrations.RunPython.noop),
        migrations.AddConstraint(
            model_name="assignmentplan",
            constraint=models.CheckConstraint(
                condition=Q(confirmed_at__isnull=True, confirmed_by__isnull=True)
                | Q(confirmed_at__isnull=False, confirmed_by__isnull=False),
                name="assignment_plan_confirmed_by_somebody",
            ),
        ),
        migrations.RunPython(migrations.RunPython.noop, forget_withdrawn),
        migrations.RunPython(refuse, accept),
    ]
