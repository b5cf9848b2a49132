"""A query that is put together once answers as the ORM's own, with every call's values."""

import threading
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection, models
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotator.models import Event, Membership, Project, Role, User
from annotator.services.database import statements
from annotator.services.database.compiled import Change, compiled, compiled_update
from annotator.services.history.events import append_event
from tests.factories import give_role, make_project, make_user

pytestmark = pytest.mark.django_db


@compiled
def memberships(user_id: int) -> QuerySet[Membership]:
    return Membership.objects.live().filter(user=user_id).select_related("project", "user").order_by("pk")


@compiled
def with_counts(name: str, since: datetime) -> QuerySet[Project]:
    seniors = Membership.objects.filter(project=OuterRef("pk"), role=Role.SENIOR_REVIEWER)
    found = Project.objects.filter(Q(name=name) | Q(slug=name), created_at__gte=since).defer("description")
    return found.annotate(members=Count("memberships"), has_senior=Exists(seniors)).order_by("slug")


@compiled
def roles(user_id: int, project_id: int) -> QuerySet[Membership, str]:
    # In another order than in the statement.
    return Membership.objects.filter(project=project_id, user=user_id).order_by("-role").values_list("role", flat=True)


@compiled
def events(project_id: int, least: int) -> QuerySet[Event, Any]:
    found = Event.objects.filter(project=project_id, pk__gte=least).annotate(key=F("pk"))
    return found.values_list("after", "kind", "actor__display_name", "key").order_by("-pk")[:2]


@compiled_update
def rename(user_id: int, name: str, since: datetime | None) -> Change:
    return User.objects.filter(pk=user_id, is_active=True), {"display_name": name, "tokens_since": since}


def stored(instance: models.Model) -> dict[str, object]:
    """Return the fields that were read, also of related rows."""
    kept = {name: value for name, value in vars(instance).items() if name != "_state"}
    return kept | {name: stored(one) for name, one in instance._state.fields_cache.items() if one is not None}


def test_instances_come_with_what_was_selected_beside_them() -> None:
    people, projects = [make_user(), make_user()], [make_project(), make_project(name="Other")]
    for person in people:
        for project in projects:
            give_role(project, person, Role.ANNOTATOR)
    for person in people:
        with CaptureQueriesContext(connection) as made:
            read = memberships(person.pk)
        assert len(made) == 1
        assert len(read) == 2
        assert [stored(one) for one in read] == [stored(one) for one in memberships.function(person.pk)]
        assert not read[0]._state.adding


def test_annotations_and_what_is_left_out_are_as_in_the_orm() -> None:
    project = make_project(name="One")
    give_role(project, make_user(), Role.SENIOR_REVIEWER)
    make_project(name="Two")
    now = timezone.now()
    for name, since in (("One", now - timedelta(days=1)), ("Two", now - timedelta(days=1)), ("One", now)):
        assert [*map(stored, with_counts(name, since))] == [*map(stored, with_counts.function(name, since))]
    [read] = with_counts("One", now - timedelta(days=1))
    assert (read.members, read.has_senior) == (1, True)  # type: ignore[attr-defined]
    assert "description" in read.get_deferred_fields()


def test_tuples_and_single_values_are_converted_as_in_the_orm() -> None:
    person, project = make_user(), make_project()
    for role in (Role.ANNOTATOR, Role.ADMINISTRATOR):
        give_role(project, person, role)
    for number in range(3):
        append_event(actor=person, project=project, kind="project.renamed", after={"number": [number]})
    assert roles(person.pk, project.pk) == list(roles.function(person.pk, project.pk)) == ["annotator", "administrator"]
    read = events(project.pk, 0)
    assert read == list(events.function(project.pk, 0))
    assert read[0][:3] == ({"number": [2]}, "project.renamed", person.display_name)
    assert roles(person.pk, project.pk + 1) == events(project.pk, read[0][3] + 1) == []


def test_an_update_changes_the_rows_and_counts_them() -> None:
    person, gone, now = make_user(), make_user(is_active=False), timezone.now()
    assert [rename(one.pk, "New name", since) for one, since in ((person, now), (gone, now))] == [1, 0]
    person.refresh_from_db()
    assert (person.display_name, person.tokens_since) == ("New name", now)
    assert rename(person.pk, "Newer", None) == 1
    person.refresh_from_db()
    assert (person.display_name, person.tokens_since) == ("Newer", None)


@pytest.mark.django_db(transaction=True)
def test_another_thread_asks_its_own_connection() -> None:
    person, project = make_user(), make_project()
    give_role(project, person, Role.ANNOTATOR)
    seen: list[list[str]] = [roles(person.pk, project.pk)]

    def ask() -> None:
        seen.append(roles(person.pk, project.pk))
        connection.close()

    for thread in [threading.Thread(target=ask) for _ in range(2)]:
        thread.start()
        thread.join()
    assert seen == [["annotator"]] * 3


def test_a_written_out_statement_keeps_its_percent_signs_and_the_order_of_its_values() -> None:
    assert statements.rows("SELECT '%%s', %s + 0, '100%%', %s + 1", [1, 2]) == [("%s", 1, "100%", 3)]
