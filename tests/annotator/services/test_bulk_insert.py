"""Rows that are written many at once are those that the ORM writes."""

import pytest
from django.utils import timezone

from annotator.models import Event
from annotator.services.database.bulk_insert import allocate_ids, as_json, insert_rows
from tests.factories import make_dialogue, make_team

pytestmark = pytest.mark.django_db


def test_rows_written_at_once_are_those_that_the_orm_writes():
    team = make_team()
    one, other = make_dialogue(team.project), make_dialogue(team.project)
    now, after = timezone.now(), {"text": "“Grüße” \\ \t\n 日本", "number": 1.5, "none": None}
    names = ("dialogue_id", "number", "after", "hash")
    constants = {"project_id": team.project.pk, "actor_id": None, "kind": "x", "before": "{}", "created_at": now}
    insert_rows(Event, names, [(one.pk, n, as_json(after), f"h{n}") for n in (7, 8)], constants=constants)
    Event.objects.bulk_create(
        Event(project=team.project, dialogue=other, number=n, after=after, hash=f"h{n}", kind="x", created_at=now)
        for n in (7, 8)
    )

    def rows(dialogue):
        return [
            {name: value for name, value in row.items() if name not in ("id", "dialogue_id")}
            for row in Event.objects.filter(dialogue=dialogue, kind="x").order_by("number").values()
        ]

    assert rows(one) == rows(other) != []


def test_keys_allocated_beforehand_are_nobody_elses():
    team = make_team()
    keys = allocate_ids(Event, 3)
    rows = [(key, key) for key in keys]
    constants = {"project_id": team.project.pk, "kind": "x", "created_at": timezone.now()}
    insert_rows(Event, ("id", "number"), rows, constants=constants)
    later = Event.objects.create(project=team.project, kind="y", created_at=timezone.now())
    assert len({*keys, later.pk}) == 4
    assert list(Event.objects.filter(kind="x").order_by("pk").values_list("pk", flat=True)) == keys
