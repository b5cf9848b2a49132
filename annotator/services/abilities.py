"""The languages and skills of a project's members, which administrators set."""

from collections.abc import Collection, Iterable

from django.db import transaction
from django.db.models import JSONField, OuterRef, Subquery
from django.utils.translation import gettext as _

from annotator.core.abilities import ANYTHING, MAX_SKILLS, PREFIX, Abilities
from annotator.core.tags import MAX_LENGTH, tag_of
from annotator.errors import Conflict, Invalid
from annotator.models import MemberAbilities, Membership, Project, Role, User
from annotator.services.access.permissions import require_administrator
from annotator.services.dialogues.listing import LANGUAGES
from annotator.services.history.events import append_event


def read_abilities(project: Project, people: Collection[int]) -> dict[int, Abilities]:
    """Return the abilities of those people (by key) who are restricted."""
    rows = MemberAbilities.objects.filter(project=project, user__in=people)
    return {
        user: Abilities(frozenset(languages), frozenset(skills))
        for user, languages, skills in rows.values_list("user_id", "languages", "skills")
    }


def abilities_of(project: Project, person: User) -> Abilities:
    """Return a person's abilities in a project."""
    return read_abilities(project, [person.pk]).get(person.pk, ANYTHING)


def roles_and_abilities(*, project: Project, person: User) -> tuple[frozenset[Role], Abilities]:
    """Return both in one query; see ``roles_in``."""
    if not person.is_active or not person.reaches(project.pk):
        return frozenset(), ANYTHING
    own = MemberAbilities.objects.filter(project=OuterRef("project"), user=OuterRef("user"))
    held = Membership.objects.reading().filter(project=project, user=person)
    languages, skills = (Subquery(own.values(name), output_field=JSONField()) for name in ("languages", "skills"))
    rows = list(held.values_list("role", languages, skills))
    found = [Abilities(frozenset(some or ()), frozenset(more or ())) for _role, some, more in rows]
    return frozenset(Role(role) for role, *_ in rows), found[0] if found else ANYTHING


def set_abilities(
    *, actor: User, project: Project, user: User, languages: Iterable[str], skills: Iterable[str]
) -> Abilities:
    """Set a member's languages and skills; without any they get everything. What they have claimed stays theirs.

    Raises Denied, Conflict if the person is not a member, Invalid for an unknown language or a name that is no skill.
    """
    require_administrator(actor=actor, project=project)
    wanted = Abilities(frozenset(_languages(languages)), frozenset(_skills(skills)))
    with transaction.atomic():
        members = Membership.objects.live().filter(project=project, user=user)
        if not list(members.select_for_update(no_key=True).order_by("pk")):
            raise Conflict(_("%(person)s isn’t a member of this project.") % {"person": user})
        before = abilities_of(project, user)
        if wanted == before:
            return wanted
        rows = MemberAbilities.objects.filter(project=project, user=user)
        if not wanted.restrict:
            rows.delete()
        else:
            values = {"languages": sorted(wanted.languages), "skills": sorted(wanted.skills)}
            MemberAbilities.objects.update_or_create(project=project, user=user, defaults=values)
        append_event(
            actor=actor,
            project=project,
            kind="membership.abilities_changed",
            before=_as_event(user, before),
            after=_as_event(user, wanted),
        )
    return wanted


def _as_event(user: User, abilities: Abilities) -> dict[str, object]:
    return {
        "user": user.public_id,
        "languages": sorted(abilities.languages),
        "skills": sorted(abilities.skills),
    }


def _languages(names: Iterable[str]) -> list[str]:
    found = list(dict.fromkeys(names))
    for name in found:
        if name not in LANGUAGES:
            raise Invalid(
                _("There is no language “%(name)s”. Use one of: %(known)s.")
                % {"name": name[:40], "known": ", ".join(LANGUAGES)},
                field="languages",
            )
    return found


def _skills(names: Iterable[str]) -> list[str]:
    skills = []
    for name in names:
        tag = tag_of(PREFIX + name.strip())
        if not tag or not name.strip():
            sentence = _("“%(name)s” can’t be a skill. Use at most %(most)s letters, digits, hyphens and underscores.")
            most = MAX_LENGTH - len(PREFIX)
            raise Invalid(sentence % {"name": name[:60].replace("\x00", ""), "most": most}, field="skills")
        skills.append(tag.removeprefix(PREFIX))
    skills = list(dict.fromkeys(skills))
    if len(skills) > MAX_SKILLS:
        raise Invalid(_("One person may have at most %(most)s skills.") % {"most": MAX_SKILLS}, field="skills")
    return skills
