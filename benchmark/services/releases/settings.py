"""What a project says about its releases: licence, authors, citation, limits, annotators."""

from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotator.errors import Conflict, Invalid
from annotator.models import Project, User
from annotator.services.access.permissions import require_administrator
from annotator.services.history.events import append_event
from benchmark.core.archives.description import LICENCES, OWN_LICENCE, Description, Settings, read_authors
from benchmark.models import Release, ReleaseSettings

#: Characters of each longer text.
MAX_TEXT = 20_000


def settings_of(project: Project) -> Settings:
    """Return the project's settings; empty ones if nothing was chosen."""
    return read_settings(project=project)[0]


def read_settings(*, project: Project) -> tuple[Settings, int]:
    """Return the project's settings with their number, 0 before the first change."""
    found = ReleaseSettings.objects.filter(project=project).first()
    return (Settings.read(found.content), found.number) if found else (Settings(), 0)


def change_settings(
    *,
    actor: User | None,
    project: Project,
    seen: int | None = None,
    licence: str = "",
    licence_text: str = "",
    authors: str = "",
    citation: str = "",
    limits: str = "",
    demographics: str = "",
) -> Settings:
    """Store the settings for releases that are frozen from now on. ``authors``: see ``read_authors``.

    ``actor`` None is the command line; ``seen`` is the number of the settings that the actor started from. Raises
    Denied for anyone but administrators, Invalid, and Conflict if somebody else changed them meanwhile.
    """
    if actor is not None:
        require_administrator(actor=actor, project=project)
    texts = {
        "licence_text": licence_text if licence == OWN_LICENCE else "",
        "citation": citation,
        "limits": limits,
        "demographics": demographics,
    }
    texts = {name: _checked(name, text) for name, text in texts.items()}
    if licence not in ("", OWN_LICENCE, *LICENCES):
        raise Invalid(_("Choose a licence from the list."), field="licence")
    if licence == OWN_LICENCE and not texts["licence_text"]:
        raise Invalid(_("Enter the text of the licence, or choose a licence from the list."), field="licence_text")
    try:
        new = Settings(licence=licence, authors=read_authors(authors), **texts)
    except ValueError as problem:
        raise Invalid(str(problem), field="authors") from None
    with transaction.atomic():
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        old, number = read_settings(project=project)
        if old == new:
            return new
        if seen is not None and seen != number:
            raise Conflict(
                _(
                    "Somebody else changed these settings. Nothing was saved. Your values are below; save again to "
                    "replace theirs."
                ),
                number=number,
            )
        values: dict[str, Any] = {"content": new.stored(), "changed_by": actor, "changed_at": timezone.now()}
        ReleaseSettings.objects.update_or_create(project=project, defaults=values | {"number": number + 1})
        append_event(
            actor=actor,
            project=project,
            kind="release_settings.changed",
            before={"licence": old.licence},
            after={"licence": new.licence, "number": number + 1},
        )
    return new


def describe(release: Release) -> Description:
    """Return what a frozen release says about itself."""
    frozen = release.frozen
    project = frozen["project"]
    return Description(
        project=project["name"],
        slug=project["slug"],
        about=project["description"],
        version=release.version,
        day=frozen["frozen_at"][:10],
        canary=release.canary,
        settings=Settings.read(frozen["settings"]),
    )


def lacks_licence(release: Release) -> bool:
    """Return whether a release was frozen without a licence, although projects could choose one."""
    return "settings" in release.frozen and not release.frozen["settings"]["licence"]


def _checked(name: str, text: str) -> str:
    """Return a longer text with plain line breaks. Raises Invalid."""
    text = "\n".join(line.rstrip() for line in text.splitlines()).strip()
    if len(text) > MAX_TEXT:
        raise Invalid(
            _("The text has %(length)s characters. The limit is %(limit)s.")
            % {"length": f"{len(text):,}", "limit": f"{MAX_TEXT:,}"},
            field=name,
        )
    if "\x00" in text:
        raise Invalid(_("The text contains a NUL character. Remove it."), field=name)
    return text
