"""Queries that see one moment of the database while others write."""

import pytest

from annotator.models import User
from annotator.services.database.snapshot import one_snapshot
from tests.factories import make_user
from tests.racing import lost, race

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_reader_sees_one_moment_and_holds_nobody_up() -> None:
    for _ in range(2):
        with one_snapshot():
            before = User.objects.count()
            assert lost(race(make_user)) == []
            assert User.objects.count() == before
        assert User.objects.count() == before + 1


def test_a_writer_writes() -> None:
    with one_snapshot(writes=True):
        make_user()
    assert User.objects.count() == 1
