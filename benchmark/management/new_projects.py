"""The project that a command creates for a file: its administrator and its protocol."""

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.text import slugify

from annotator.core.wording import counted
from annotator.models import Membership, Project, Role, User
from annotator.services.members import grant_role
from annotator.services.projects import create_project
from benchmark.management.base import Stop
from reviews.services.protocols.versions import adopt_preset

#: Format → the protocol of its benchmark.
_PROTOCOLS = {"c3": "c3", "mmtb": "c3", "wild": "wild", "cctu": "cctu", "async": "async", "bfcl_single": "async"}
#: The protocol for formats without a benchmark.
_USUAL = "c3"
#: People listed when one has to be chosen.
_NAMED = 5


def new_project(*, slug: str, native_format: str, owner: str | None) -> tuple[Project, str]:
    """Create a project for a file of this format; return it and a message. ``owner`` as for ``find_owner``."""
    if slugify(slug) != slug:
        raise Stop(f"“{slug}” can't be the project's name in URLs. Use lower-case letters, digits and hyphens.")
    person = find_owner(owner)
    preset = _PROTOCOLS.get(native_format, _USUAL)
    with transaction.atomic():
        project = create_project(actor=None, name=slug, slug=slug)
        if person is not None:
            grant_role(actor=None, project=project, user=person, role=Role.ADMINISTRATOR)
        adopt_preset(actor=None, project=project, preset=preset)
    said = f"Created project {slug} with the {preset} protocol"
    if native_format not in _PROTOCOLS:
        said += f" (the format {native_format} has no protocol of its own; choose another one on the page Protocol)"
    if person is None:
        return project, (
            f"{said}. It has no administrator, because no account may administer it. Create one "
            "with “manage.py createsuperuser”, then run this command again with --owner NAME."
        )
    return project, f"{said}. {person} administers it and can invite others on the page People."


def find_owner(name: str | None) -> User | None:
    """Return the administrator of a new project: the person with this name or email address.

    Without a name, the only person who may create projects: of the installation's operators if there are any, else of
    the administrators of projects. None if there is nobody. Raises Stop if somebody has to choose.
    """
    if name is not None:
        return _named(name)
    people = User.objects.filter(is_active=True)
    administers = Membership.objects.live().filter(user=OuterRef("pk"), role=Role.ADMINISTRATOR)
    able = people.filter(is_staff=True).order_by("username")
    if not able.exists():
        able = people.filter(Exists(administers)).order_by("username")
    if able.count() > 1:
        raise Stop(f"{_listed(able)} could administer the new project. Choose one with --owner NAME.")
    return able.first()


def _named(name: str) -> User:
    found = list(User.objects.filter(Q(username__iexact=name) | Q(email__iexact=name), is_active=True)[:2])
    if len(found) != 1:
        raise Stop(f"{'More than one' if found else 'No'} active account is called “{name}”. Give the username.")
    return found[0]


def _listed(people: QuerySet[User]) -> str:
    names = list(people.values_list("username", flat=True)[:_NAMED])
    more = people.count() - len(names)
    return f"{', '.join(names)} and {counted(more, 'other')}" if more else f"{', '.join(names[:-1])} and {names[-1]}"


def let_in(*, project: Project, owner: str) -> str:
    """Make somebody the administrator of a project that has none. Return a message, or an empty text.

    Raises Stop if the project has other administrators: they decide who administers it.
    """
    person = _named(owner)
    live = Membership.objects.active().filter(project=project, role=Role.ADMINISTRATOR)
    if live.filter(user=person).exists():
        return ""
    if live.exists():
        raise Stop(
            f"{project.slug} has other administrators, who can give {person} a role on the page "
            "People. Leave out --owner."
        )
    grant_role(actor=None, project=project, user=person, role=Role.ADMINISTRATOR)
    return f"{person} now administers {project.slug}."
