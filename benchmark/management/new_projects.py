"""The project that a command makes for a file: who administers it, and under which protocol."""

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.text import slugify

from annotator.core.wording import counted
from annotator.models import Membership, Project, Role, User
from annotator.services.projects import create_project, grant_role
from benchmark.management.base import Stop
from reviews.services.protocols.versions import adopt_preset

#: Format → the protocol of the benchmark it belongs to.
_PROTOCOLS = {"c3": "c3", "mmtb": "c3", "wild": "wild", "cctu": "cctu"}
#: The protocol of dialogues that belong to no benchmark.
_USUAL = "c3"
#: People named to whoever has to choose.
_NAMED = 5


def new_project(*, slug: str, native_format: str, owner: str | None) -> tuple[Project, str]:
    """A project for a file of this format, and what there is to say of it. ``owner`` as for ``find_owner``."""
    if slugify(slug) != slug:
        raise Stop(f"“{slug}” cannot be a project's address: use small letters, digits and hyphens.")
    person = find_owner(owner)
    preset = _PROTOCOLS.get(native_format, _USUAL)
    with transaction.atomic():
        project = create_project(actor=None, name=slug, slug=slug)
        if person is not None:
            grant_role(actor=None, project=project, user=person, role=Role.ADMINISTRATOR)
        adopt_preset(actor=None, project=project, preset=preset)
    said = f"Project {slug} is there, under the {preset} protocol"
    if native_format not in _PROTOCOLS:
        said += f" (the format {native_format} belongs to none; its page Protocol offers others)"
    if person is None:
        return project, (
            f"{said}. Nobody can enter it: there is no account yet that could administer it. Make one with “manage.py "
            "createsuperuser”, then give this command again with --owner NAME."
        )
    return project, f"{said}. {person} administers it, and invites others on its page People."


def find_owner(name: str | None) -> User | None:
    """Who is to administer a new project: the person of this name or email address.

    Without a name, the only one who may create projects: of those who run the installation, if there are any, else of
    those who administer a project. None where there is nobody. Raises Stop where somebody has to choose.
    """
    if name is not None:
        return _named(name)
    people = User.objects.filter(is_active=True)
    administers = Membership.objects.live().filter(user=OuterRef("pk"), role=Role.ADMINISTRATOR)
    able = people.filter(is_staff=True).order_by("username")
    if not able.exists():
        able = people.filter(Exists(administers)).order_by("username")
    if able.count() > 1:
        raise Stop(f"{_listed(able)} could administer the new project: say who, with --owner NAME.")
    return able.first()


def _named(name: str) -> User:
    found = list(User.objects.filter(Q(username__iexact=name) | Q(email__iexact=name), is_active=True)[:2])
    if len(found) != 1:
        raise Stop(f"{'More than one' if found else 'No'} active account is called “{name}”; give its username.")
    return found[0]


def _listed(people: QuerySet[User]) -> str:
    names = list(people.values_list("username", flat=True)[:_NAMED])
    more = people.count() - len(names)
    return f"{', '.join(names)} and {counted(more, 'other')}" if more else f"{', '.join(names[:-1])} and {names[-1]}"


def let_in(*, project: Project, owner: str) -> str:
    """Make somebody the administrator of a project that has none. Returns what there is to say of it, if anything.

    Raises Stop where others administer it: they decide who does.
    """
    person = _named(owner)
    live = Membership.objects.active().filter(project=project, role=Role.ADMINISTRATOR)
    if live.filter(user=person).exists():
        return ""
    if live.exists():
        raise Stop(
            f"Others administer {project.slug}; they give {person} a role on its page People. Leave out --owner."
        )
    grant_role(actor=None, project=project, user=person, role=Role.ADMINISTRATOR)
    return f"{person} administers {project.slug} from now on."
