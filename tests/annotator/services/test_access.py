"""Loading is authorising: what one may not see does not exist, and a refusal names the role it takes."""

import pytest
from django.contrib.auth.models import AnonymousUser
from django.utils import timezone

from annotator.errors import Denied, Hidden
from annotator.models import Dialogue, Membership, Project, Revision, Role
from annotator.services.access.permissions import (
    load_dialogue,
    load_project,
    require_administrator,
    require_role,
    roles_in,
)
from annotator.services.dialogues.revisions import load_revision
from tests.factories import give_role, make_dialogue, make_document, make_team, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def closed(team):
    """A member whose account is closed."""
    return give_role(team.project, make_user("closed", is_active=False), Role.ADMINISTRATOR)


@pytest.fixture
def left(team):
    """Somebody whose role has ended."""
    person = give_role(team.project, make_user("left"), Role.ADMINISTRATOR)
    person.memberships.update(ended_at=timezone.now())
    return person


def test_members_load_their_project_and_nobody_else_does(team, closed, left):
    for person in (team.administrator, team.annotator, team.senior):
        assert load_project(actor=person, slug=team.project.slug) == team.project
    sentences = set()
    for person, slug in [
        (team.outsider, team.project.slug),
        (closed, team.project.slug),
        (left, team.project.slug),
        (make_team().administrator, team.project.slug),
        (team.administrator, "no-such-project"),
    ]:
        with pytest.raises(Hidden) as refused:
            load_project(actor=person, slug=slug)
        sentences.add(refused.value.sentence)
    assert len(sentences) == 1


def test_roles(team, closed, left):
    give_role(team.project, team.annotator, Role.SENIOR_REVIEWER)
    assert roles_in(team.project, team.annotator) == {Role.ANNOTATOR, Role.SENIOR_REVIEWER}
    for person in (team.outsider, closed, left):
        assert roles_in(team.project, person) == frozenset()


def test_roles_that_ended_are_not_live_and_those_of_closed_accounts_not_active(team, closed, left):
    held = Membership.objects.filter(project=team.project, role=Role.ADMINISTRATOR)
    assert {one.user for one in held.live()} == {team.administrator, closed}
    assert set(held.active().people()) == {team.administrator}


def test_the_role_it_takes_is_named(team, closed, left):
    both = {Role.SENIOR_REVIEWER, Role.ADMINISTRATOR}
    assert require_role(actor=team.senior, project=team.project, roles=both) == {Role.SENIOR_REVIEWER}
    with pytest.raises(Denied) as refused:
        require_role(actor=team.annotator, project=team.project, roles=both)
    role = "administrator or senior reviewer"
    assert refused.value.sentence == (
        f"You need the role {role} in {team.project.name} to do this. Ask one of its administrators."
    )
    require_administrator(actor=team.administrator, project=team.project)
    for person in (team.outsider, closed, left):
        with pytest.raises(Hidden):
            require_administrator(actor=person, project=team.project)


def test_a_dialogue_is_loaded_in_its_own_project_once_it_is_published(team, closed, left):
    dialogue, unpublished = make_dialogue(team.project), make_dialogue(team.project, published=False)
    assert load_dialogue(actor=team.annotator, project=team.project, public_id=dialogue.public_id) == dialogue
    other = make_team()
    give_role(other.project, team.annotator, Role.ANNOTATOR)
    for person, project, public_id in [
        (team.annotator, team.project, unpublished.public_id),
        (team.annotator, other.project, dialogue.public_id),
        (team.annotator, team.project, "x" * 10_000),
        (team.outsider, team.project, dialogue.public_id),
        (closed, team.project, dialogue.public_id),
        (left, team.project, dialogue.public_id),
    ]:
        with pytest.raises(Hidden):
            load_dialogue(actor=person, project=project, public_id=public_id)


def test_a_sealed_revision_is_its_authors_alone(team, closed):
    dialogue = make_dialogue(team.project)
    sealed = Revision.objects.create(
        dialogue=dialogue,
        parent=dialogue.head,
        author=team.annotator,
        toolset_revision=dialogue.head.toolset_revision,
        content=dialogue.head.content,
        content_hash=dialogue.head.content_hash,
        sealed=True,
    )

    def sees(person):
        try:
            return load_revision(actor=person, dialogue=dialogue, public_id=sealed.public_id) == sealed
        except Hidden:
            return False

    assert sees(team.annotator)
    for person in (team.annotators[1], team.senior, team.administrator, team.outsider, closed):
        assert not sees(person)
    other = make_dialogue(team.project, make_document("other"))
    with pytest.raises(Hidden):
        load_revision(actor=team.annotator, dialogue=other, public_id=sealed.public_id)


def test_nobody_signed_in_sees_nothing(team):
    make_dialogue(team.project)
    nobody = AnonymousUser()
    for rows in (Project, Dialogue):
        assert not rows.objects.visible_to(nobody).exists()
