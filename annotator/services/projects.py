"""Projects: creation, settings and the guideline."""

from datetime import datetime
from functools import cache
from typing import Any
from zoneinfo import available_timezones

from django.db import IntegrityError, transaction
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotator.core.checks import all_checks
from annotator.core.wording import has_unseen
from annotator.errors import Conflict, Denied, Hidden, Invalid
from annotator.models import Event, Guideline, Membership, Project, Role, User
from annotator.models.keys import hash_secret
from annotator.services.access.permissions import require_administrator
from annotator.services.history.events import append_event
from annotator.services.toolsets.categories import start_categories

SEVERITIES = ("error", "warning", "info", "off")
SETTINGS = ("name", "description", "time_zone", "long_range_rule", "check_settings")
_LABELS = {
    "name": gettext_noop("Name"),
    "description": gettext_noop("Description"),
    "time_zone": gettext_noop("Time zone"),
    "long_range_rule": gettext_noop("Long-range rule"),
}
_CHECK = "check "
MAX_GUIDELINE = 200_000


@cache
def time_zones() -> tuple[str, ...]:
    """Return the sorted names of all time zones. Cached, because finding them reads a folder of hundreds of files."""
    return tuple(sorted(available_timezones()))


def may_create_projects(user: User) -> bool:
    """Return whether the user may create projects: staff, and administrators of a project."""
    return user.is_active and (user.is_staff or user.memberships.live().filter(role=Role.ADMINISTRATOR).exists())


def create_project(*, actor: User | None, name: str, slug: str = "", description: str = "") -> Project:
    """Create a project administered by the actor (None: the command line, a project without members).

    Without a ``slug``, one is made from the name, with a number if it is taken. A repeated request returns the project
    that the first one created. Raises Denied, Invalid, or Conflict if the given slug is taken.
    """
    if actor is not None:
        require_project_creator(actor=actor)
    name, description = _required_name(name), description[:2000]
    wanted = slugify(slug or name)[: 60 if slug else 56].strip("-_")
    if not wanted:
        raise Invalid(
            _("The address needs at least one digit or letter from a to z."),
            field="slug",
        )
    for n in range(1, 100):
        tried = wanted if n == 1 else f"{wanted}-{n}"
        try:
            with transaction.atomic():
                project = Project.objects.create(name=name, slug=tried, description=description)
                start_categories(project)
                if actor is not None:
                    Membership.objects.create(project=project, user=actor, role=Role.ADMINISTRATOR)
                append_event(actor=actor, project=project, kind="project.created", after={"name": name, "slug": tried})
        except IntegrityError:
            made = actor and _just_made(actor, name=name, slug=tried, description=description)
            if made:
                return made
            if slug:
                break
        else:
            return project
    raise Conflict(_("The address “%(slug)s” is taken. Choose another.") % {"slug": wanted}, field="slug")


def _just_made(actor: User, **fields: str) -> Project | None:
    """Return the project that the actor created with these fields if it is untouched since: a double click."""
    project = Project.objects.administered_by(actor).filter(**fields).first()
    if project is None:
        return None
    kinds = Event.objects.filter(project=project).order_by("pk").values_list("kind", "actor")[:2]
    return project if list(kinds) == [("project.created", actor.pk)] else None


def require_project_creator(*, actor: User) -> None:
    """Raise Denied unless the actor may create projects. A token for some projects may not: it could not use them."""
    if actor.token_projects is not None:
        raise Denied(_("This token is limited to some projects. Create projects with a token for all your projects."))
    if not may_create_projects(actor):
        raise Denied(_("Only staff and administrators of a project can create projects."))


def _required_name(name: str) -> str:
    name = name.strip()
    if not name:
        raise Invalid(_("Enter a name."), field="name")
    if has_unseen(name):
        raise Invalid(_("The name contains invisible characters. Type it again."), field="name")
    if len(name) > 120:
        raise Invalid(_("The name is longer than 120 characters. Shorten it."), field="name")
    return name


def settings_of(project: Project) -> dict[str, Any]:
    """Return a project's settings as ``change_project`` takes them."""
    return {name: getattr(project, name) for name in SETTINGS}


def change_project(
    *,
    actor: User,
    project: Project,
    name: str,
    description: str,
    time_zone: str,
    long_range_rule: str,
    check_settings: dict[str, str],
    seen: dict[str, Any] | None = None,
) -> Project:
    """Change a project's settings. ``check_settings`` has only the severities that differ from the registry's.

    ``seen``: the settings that the actor started from. Changes by others since then are kept. Raises Conflict if both
    changed the same setting; its ``mine`` are the settings with the actor's changes, its ``now`` the current ones.
    """
    require_administrator(actor=actor, project=project)
    name = _required_name(name)
    if time_zone not in time_zones():
        raise Invalid(_("“%(zone)s” isn’t a time zone. Use a name like Europe/Kyiv.") % {"zone": time_zone})
    if long_range_rule not in ("c3", "wild"):
        raise Invalid(_("The long-range rule must be “c3” or “wild”."))
    known = {check.id for check in all_checks()}
    for check, severity in check_settings.items():
        if check not in known:
            raise Invalid(_("There is no check “%(check)s”.") % {"check": check})
        if severity not in SEVERITIES:
            raise Invalid(
                _("The severity of %(check)s must be one of: %(severities)s.")
                % {"check": check, "severities": ", ".join(SEVERITIES)}
            )
    with transaction.atomic():
        project = Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        new = {
            "name": name,
            "description": description[:2000],
            "time_zone": time_zone,
            "long_range_rule": long_range_rule,
            "check_settings": check_settings,
        }
        if seen is not None:
            new = _beside(new, seen, settings_of(project))
        _set(actor, project, new)
    return project


def follow_long_range_rule(*, actor: User | None, project: Project, rule: str) -> None:
    """Set the long-range rule to that of the benchmark whose protocol the project adopts first.

    Runs in the caller's transaction, which has locked the project.
    """
    _set(actor, project, {"long_range_rule": rule})


def _set(actor: User | None, project: Project, new: dict[str, Any]) -> None:
    before = {field: getattr(project, field) for field in new if getattr(project, field) != new[field]}
    for field in before:
        setattr(project, field, new[field])
    if before:
        project.save(update_fields=list(before))
        append_event(
            actor=actor,
            project=project,
            kind="project.changed",
            before=before,
            after={field: new[field] for field in before},
        )


def _beside(mine: dict[str, Any], seen: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """Return the current settings with the changes of a person who started from ``seen``. Raises Conflict."""
    mine, seen, now = (_one_by_one(settings) for settings in (mine, seen, now))
    ours = {key for key in {*mine, *seen} if mine.get(key) != seen.get(key)}
    merged = {key: value for key, value in now.items() if key not in ours}
    merged |= {key: mine[key] for key in ours if key in mine}
    clashes = sorted(key for key in ours if now.get(key) not in (seen.get(key), mine.get(key)))
    together = _together(merged)
    if clashes:
        words = ", ".join(f"{_label(key)} “{now.get(key, _('default'))[:80]}”" for key in clashes)
        raise Conflict(
            _(
                "Somebody else changed the same settings: %(settings)s. Nothing was saved. Your values are below; "
                "save again to overwrite theirs."
            )
            % {"settings": words},
            mine=together,
            now=_together(now),
        )
    return together


def _label(key: str) -> str:
    return _(_LABELS[key]) if key in _LABELS else key


def _one_by_one(settings: dict[str, Any]) -> dict[str, str]:
    checks = {f"{_CHECK}{check}": severity for check, severity in settings["check_settings"].items()}
    return {name: value for name, value in settings.items() if name != "check_settings"} | checks


def _together(flat: dict[str, str]) -> dict[str, Any]:
    checks = {key.removeprefix(_CHECK): value for key, value in flat.items() if key.startswith(_CHECK)}
    return {key: value for key, value in flat.items() if not key.startswith(_CHECK)} | {"check_settings": checks}


def publish_guideline(
    *, actor: User | None, project: Project, text: str, note: str = "", seen: int, asks_again: bool = False
) -> Guideline:
    """Publish a version of the guideline. ``seen`` is the version that the text started from.

    ``asks_again``: people who accepted an earlier version have to accept this one.

    A repeated request changes nothing. Raises Conflict or Invalid.
    """
    if actor is not None:
        require_administrator(actor=actor, project=project)
    text = text.replace("\r\n", "\n")
    if not text.strip():
        raise Invalid(_("The guideline is empty. Write at least a sentence."), field="text")
    if len(text) > MAX_GUIDELINE:
        sentence = _("The guideline is longer than %(most)s characters. Shorten it.")
        raise Invalid(sentence % {"most": f"{MAX_GUIDELINE:,}"}, field="text")
    if "\x00" in text:
        raise Invalid(_("The guideline contains a NUL character. Remove it."), field="text")
    with transaction.atomic():
        # One publication at a time.
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        last = Guideline.objects.filter(project=project).order_by("-number").first()
        number = last.number if last else 0
        note = note.strip()[:200]
        if last is not None and number == seen + 1 and (last.text, last.note, last.author) == (text, note, actor):
            # A second click.
            return last
        if number != seen:
            raise Conflict(
                _("Version %(number)d was published while you edited version %(seen)d. Your text is kept below.")
                % {"number": number, "seen": seen},
                number=number,
            )
        if last is not None and text == last.text:
            sentence = _("The text is the same as in the current version %(number)d.")
            raise Invalid(sentence % {"number": number}, field="text")
        guideline = Guideline.objects.create(
            project=project, number=number + 1, text=text, note=note, author=actor, asks_again=asks_again
        )
        append_event(
            actor=actor,
            project=project,
            kind="guideline.published",
            before={"number": last.number, "sha256": hash_secret(last.text)} if last else {},
            after={"number": guideline.number, "sha256": hash_secret(text), "note": guideline.note}
            | ({"asks_again": True} if asks_again else {}),
        )
    return guideline


def load_guideline(*, project: Project, number: str) -> Guideline:
    """Return a version of the guideline, by default (blank) the newest. Raises Hidden."""
    versions = Guideline.objects.filter(project=project).select_related("author")
    if number:
        is_number = number.isascii() and number.isdigit() and len(number) < 9
        versions = versions.filter(number=int(number) if is_number else 0)
    found = versions.order_by("-number").first()
    if found is None:
        sentence = _("This version of the guideline doesn’t exist.") if number else _("There is no guideline yet.")
        raise Hidden(sentence)
    return found


def projects_changed_since(rows: QuerySet[Project], moment: datetime) -> QuerySet[Project]:
    """Narrow projects down to those that were created since, or whose settings or members have changed since."""
    events = Event.objects.filter(project=OuterRef("pk"), dialogue=None).order_by("-pk")
    last = Subquery(events.values("created_at")[:1])
    return rows.alias(last_event_at=last).filter(Q(created_at__gte=moment) | Q(last_event_at__gte=moment))
