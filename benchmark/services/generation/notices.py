"""Notices about generations: to those who can act in one that waits, and to the person who started it."""

from django.urls import reverse

from annotator.core.abilities import ANYTHING
from annotator.core.text import Message, message
from annotator.models import NoticeKind, User
from annotator.services.abilities import read_abilities
from annotator.services.access.permissions import OVERSEERS
from annotator.services.notices.notices import members_with, notify
from benchmark.models import Generation, GenerationStatus
from benchmark.services.generation.permissions import CONTRIBUTORS
from benchmark.services.generation.reading import shows_known_answer
from reviews.models import ClaimState


def generation_url(generation: Generation) -> str:
    """Return the address of a generation's page."""
    return reverse("generation", args=[generation.project.slug, generation.public_id])


def tell_waiting(generation: Generation, *, but: int | None = None) -> None:
    """Notify those who can act in a generation that waits, once until they have read it; ``but``: without this person.

    Without a notice if somebody has claimed it.
    """
    if generation.claims.filter(state=ClaimState.LIVE).exists():
        return
    project = generation.project
    notify(
        actor=None,
        project=project,
        people=[key for key in _able(generation) if key != but],
        kind=NoticeKind.ASSIGNMENT,
        text=message(
            "The generation %(generation)s waits for a person. Others may be waiting too.", generation=generation.name
        ),
        target=generation_url(generation),
        key=f"generation-waits:{project.pk}",
    )


def tell_requester(generation: Generation, *, actor: User | None = None) -> None:
    """Notify the person who started a generation that it is done, paused or failed; once for many of the same."""
    notify(
        actor=actor,
        project=generation.project,
        people=[generation.requester_id],
        kind=NoticeKind.JOB,
        text=_news(generation),
        target=generation_url(generation),
        key=f"generation-{generation.status}:{generation.project_id}",
    )


def _news(generation: Generation) -> Message:
    name, why = generation.name, generation.reason or ""
    if generation.status == GenerationStatus.DONE and generation.dialogue_id is None:
        return message("The generation %(generation)s is done.", generation=name)
    if generation.status == GenerationStatus.DONE:
        return message("The generation %(generation)s is done: its dialogue is a candidate now.", generation=name)
    if generation.status == GenerationStatus.FAILED:
        return message("The generation %(generation)s has failed. %(why)s", generation=name, why=why)
    return message("The generation %(generation)s is paused. %(why)s", generation=name, why=why)


def _able(generation: Generation) -> list[int]:
    project, language = generation.project, generation.language
    roles = CONTRIBUTORS & OVERSEERS if shows_known_answer(generation) else CONTRIBUTORS
    people = sorted({person for role in roles for person in members_with(project, role)})
    abilities = read_abilities(project, people)
    return [key for key in people if not abilities.get(key, ANYTHING).lacks_language(language)]
