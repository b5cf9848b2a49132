"""What the search (Ctrl+K) finds on the server: pages, projects, dialogues, people, sections of the guideline."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from itertools import chain, islice
from typing import Any

from django.conf import settings
from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import override

from annotator.core.guideline_sections import read_sections
from annotator.models import Guideline, Membership, Project, Role, User
from annotator.services.access.permissions import OVERSEERS, member_state
from annotator.services.dialogues.listing import Filters, shown_dialogues

#: Most results of each kind, and most projects that are searched where the page belongs to none.
MAX_RESULTS = 8
MAX_PROJECTS = 5
MAX_WORDS = 8


@dataclass(frozen=True)
class Result:
    """One result: its name, what else is known of it, and its address."""

    label: str
    detail: str
    url: str


def search_all(*, actor: User, text: str, project: Project | None, roles: Iterable[Role] = ()) -> list[dict[str, Any]]:
    """Return groups of results: ``title`` and ``results`` (as ``Result``); without those that are empty.

    It finds what the lists of the actor show, and nothing else: dialogues that the list of dialogues shows, and people
    only for those who oversee the project, because reviewers of a blind stage don't know each other. ``roles``: the
    actor's in ``project``.
    """
    words = text.casefold().split()[:MAX_WORDS]
    if not words:
        return []
    mine = member_state(actor).projects
    groups: list[tuple[str, Iterable[Result]]] = [
        (_("Pages"), _pages(project, frozenset(roles), words) if project else ()),
        (_("Dialogues"), _dialogues(actor, text, [project] if project else mine[:MAX_PROJECTS])),
        (_("Guideline"), _sections(project, words) if project else ()),
        (_("People"), _people(project, words) if project and OVERSEERS.intersection(roles) else ()),
        (_("Projects"), (Result(one.name, "", one.get_absolute_url()) for one in mine if _fits(one.name, words))),
    ]
    found = [(title, list(islice(results, MAX_RESULTS))) for title, results in groups]
    return [{"title": title, "results": [asdict(one) for one in results]} for title, results in found if results]


def _fits(name: str, words: Iterable[str]) -> bool:
    low = name.casefold()
    return all(word in low for word in words)


def _pages(project: Project, roles: frozenset[Role], words: list[str]) -> Iterator[Result]:
    """Yield the pages that a person with these roles may open, found by label or by other words, in any language.

    Those that are found by their label come first.
    """
    bar = [(page, "", label, needed) for page, label, _action, needed, *_bar in settings.PROJECT_BAR]
    seen, others = set(), []
    for page, part, label, needed in [*bar, *settings.PROJECT_PAGES]:
        place = f"{page}#{part}" if part else page
        if place in seen or (needed and not roles.intersection(needed)):
            continue
        seen.add(place)
        result = Result(_(label), "", reverse(page, args=[project.slug]) + (f"#{part}" if part else ""))
        if _fits(_searched_text(label), words):
            yield result
        elif _fits(_searched_text(label, settings.SEARCH_WORDS.get(place, "")), words):
            others.append(result)
    yield from others


@cache
def _searched_text(*texts: str) -> str:
    """Return texts in all languages, because a person may know the word of another one."""
    out = []
    for code, _name in settings.LANGUAGES:
        with override(code):
            out += [_(one) for one in texts if one]
    return " ".join(out)


def _dialogues(actor: User, text: str, projects: Iterable[Project]) -> Iterator[Result]:
    for project in projects:
        rows = shown_dialogues(actor=actor, project=project, filters=Filters())
        named = list(rows.with_id_from(text)[:MAX_RESULTS])
        others = rows.matching(text).exclude(pk__in=[row.pk for row in named]).order_by("pk")
        for row in chain(named, others[:MAX_RESULTS] if len(named) < MAX_RESULTS else ()):
            yield Result(row.external_id, row.title, row.get_absolute_url())


def _sections(project: Project, words: list[str]) -> Iterator[Result]:
    latest = Guideline.objects.filter(project=project).order_by("-number").first()
    address = reverse("guideline", args=[project.slug])
    for section in read_sections(latest.text) if latest else ():
        if _fits(section.title, words):
            yield Result(section.title, "", f"{address}#{section.slug}")


def _people(project: Project, words: list[str]) -> Iterator[Result]:
    wanted = Q()
    for word in words:
        wanted &= Q(display_name__icontains=word) | Q(username__icontains=word)
    people = Membership.objects.live().filter(project=project).people().filter(wanted)
    address = reverse("member-list", args=[project.slug])
    for person in people.order_by("display_name", "username")[:MAX_RESULTS]:
        yield Result(str(person), person.username, f"{address}#person-{person.public_id}")
