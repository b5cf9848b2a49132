"""Human baselines: a member of the project answers the entries of a release as a model would.

The page stores a reply; a job lets the conversation go on, because tools and validators run in workers only.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django.db import transaction
from django.db.models import F, QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotator.core.sandbox import SandboxUnavailable
from annotator.core.schema.exact_json import loads
from annotator.core.text import message
from annotator.errors import Conflict, Hidden, Invalid
from annotator.models import Membership, NoticeKind, Project, User
from annotator.models.keys import new_public_id
from annotator.services.jobs.jobs import Running, job_kind
from annotator.services.notices.notices import notify
from benchmark.core.inference.asking import MAX_CALLS, Ask, Reply, Unit, read_message
from benchmark.core.scoring.records import Unreadable
from benchmark.models import (
    BaselineEntry,
    BaselineState,
    Inference,
    InferenceAnswer,
    InferenceReply,
    Mode,
    Release,
)
from benchmark.services.inference.conversations import planned_units, score_answers
from benchmark.services.inference.options import Options
from benchmark.services.inference.requests import BASELINE, check_request, list_inferences, start_job_of

#: Entries of one baseline.
MAX_ENTRIES = 2_000
#: Characters of a text, and of the arguments of a call.
MAX_TEXT = 100_000


def start_baseline(
    *,
    actor: User,
    release: Release,
    person: User,
    family: str,
    name: str = "",
    mode: Mode | None = None,
    options: Options | None = None,
    wake_worker: bool = True,
) -> Inference:
    """Ask a member of the project to answer the entries of a release. ``name``: the run's on the leaderboard.

    Raises Denied for anyone but administrators, Conflict unless the release is frozen, Invalid for a person who is no
    member and for options that make no sense.
    """
    options, mode = options or Options(), mode or Mode()
    check_request(actor=actor, release=release, family=family, mode=mode, options=options)
    project = release.project
    if not list_people(project).filter(pk=person.pk).exists():
        raise Invalid(_("%(person)s is not a member of the project.") % {"person": person}, field="person")
    name = name.strip() or _("Human baseline")
    with transaction.atomic():
        public_id = new_public_id()
        job = start_job_of(public_id, BASELINE, actor=actor, project=project, wake_worker=wake_worker)
        inference = Inference.objects.create(
            public_id=public_id, release=release, release_sha256=release.sha256, person=person, job=job,
            requester=actor, model=name, name=name, family=family, settings=options.as_json(), **asdict(mode),
        )  # fmt: skip
        notify(
            actor=actor, project=project, people=[person.pk], kind=NoticeKind.ASSIGNMENT,
            text=message("Please answer release %(version)s yourself, as a model would.", version=release.version),
            target=reverse("baseline", args=[project.slug, public_id]),
        )  # fmt: skip
    return inference


def list_people(project: Project) -> QuerySet[User]:
    """Return the members who can answer."""
    members = Membership.objects.active().filter(project=project)
    return User.objects.filter(pk__in=members.values("user")).order_by("display_name", "pk")


def find_person(*, project: Project, public_id: str) -> User:
    """Return a member of the project who can answer. Raises Invalid."""
    found = list_people(project).filter(public_id=public_id).first()
    if found is None:
        raise Invalid(_("The project has no member with this id. “members/” lists them."), field="person")
    return found


def load_baseline(*, actor: User, project: Project, public_id: str) -> Inference:
    """Return a baseline that the actor answers. Raises Hidden for everyone else."""
    found = (
        Inference.objects.filter(release__project=project, public_id=public_id, person=actor)
        .select_related("release__project", "job")
        .first()
    )
    if found is None:
        raise Hidden(_("There is no such baseline, or somebody else answers it."))
    return found


def list_baselines(*, actor: User, release: Release) -> QuerySet[Inference]:
    """Return the baselines of a release. Raises Denied for anyone but administrators."""
    return list_inferences(actor=actor, release=release).filter(person__isnull=False)


def list_open(*, person: User, project: Project) -> QuerySet[Inference]:
    """Return the baselines of a project that a person has yet to answer."""
    return Inference.objects.filter(release__project=project, person=person, predictions=None).select_related("release")


def next_entry(inference: Inference, *, with_ask: bool = True) -> BaselineEntry | None:
    """Return the first entry that has not ended. ``with_ask``: with what is asked, which may be large."""
    found = inference.entries.exclude(state=BaselineState.ENDED).select_related("job").order_by("place")
    return (found if with_ask else found.defer("ask")).first()


def send_reply(
    *,
    actor: User,
    inference: Inference,
    place: int,
    number: int,
    text: str,
    calls: Sequence[tuple[str, str]],
    wake_worker: bool = True,
) -> None:
    """Store a person's reply to the entry at a place: calls as (tool, arguments), or a text.

    Raises Hidden for anyone but the person, Invalid for a reply that says nothing or has unreadable arguments, Conflict
    if the reply ``number`` is there already.
    """
    if inference.person_id != actor.pk:
        raise Hidden(_("There is no such baseline, or somebody else answers it."))
    said = _message(text, calls)
    with transaction.atomic():
        entry = inference.entries.select_for_update(no_key=True).filter(place=place).first()
        if entry is None:
            raise Hidden(_("There is no such entry in the baseline."))
        if entry.state != BaselineState.DUE or entry.number != number:
            raise Conflict(_("This reply was sent already, perhaps from another window."))
        known = {tool["function"]["name"] for tool in entry.ask["tools"]}
        unknown = next((name for name, _arguments_ in calls if name not in known), None)
        if unknown is not None:
            raise Invalid(_("There is no tool %(name)s here.") % {"name": unknown[:100]}, field="tool")
        InferenceReply.objects.create(inference=inference, unit=entry.unit, number=number, message=said)
        entry.state = BaselineState.SENT
        entry.save(update_fields=["state"])
        Inference.objects.filter(pk=inference.pk).update(requests=F("requests") + 1)
        _process(inference, entry, actor, wake_worker=wake_worker)


def process_again(*, actor: User, inference: Inference, place: int) -> None:
    """Let a worker process a reply again whose processing has failed. Raises Hidden and Conflict."""
    if inference.person_id != actor.pk:
        raise Hidden(_("There is no such baseline, or somebody else answers it."))
    with transaction.atomic():
        entry = inference.entries.select_for_update(no_key=True).filter(place=place).first()
        if entry is None:
            raise Hidden(_("There is no such entry in the baseline."))
        if entry.state == BaselineState.SENT and entry.job is not None and entry.job.ended:
            _process(inference, entry, actor, wake_worker=True)


def _process(inference: Inference, entry: BaselineEntry, actor: User, *, wake_worker: bool) -> None:
    entry.job = start_job_of(
        inference.public_id, BASELINE, actor=actor, project=inference.release.project, wake_worker=wake_worker,
        unit=entry.unit,
    )  # fmt: skip
    entry.save(update_fields=["job"])


def _message(text: str, calls: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return a reply as a model's message. Raises Invalid."""
    if "\0" in text or len(text) > MAX_TEXT:
        raise Invalid(_("A reply can have %(most)s characters, and no NUL.") % {"most": f"{MAX_TEXT:,}"}, field="text")
    if not calls:
        if not text.strip():
            raise Invalid(_("Call a tool, or write what you answer or ask."), field="text")
        return {"role": "assistant", "content": text}
    if len(calls) > MAX_CALLS:
        raise Invalid(_("A reply can have %(most)s calls.") % {"most": MAX_CALLS})
    return {
        "role": "assistant",
        "content": text or None,
        "tool_calls": [
            {"id": None, "type": "function", "function": {"name": name, "arguments": _arguments(place, arguments)}}
            for place, (name, arguments) in enumerate(calls)
        ],
    }


def _arguments(place: int, text: str) -> str:
    text = text.strip() or "{}"
    try:
        value = loads(text) if len(text) <= MAX_TEXT else None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise Invalid(
            _('The arguments of call %(number)s must be a JSON object, such as {"city": "Oslo"}.')
            % {"number": place + 1},
            field=f"arguments-{place}",
        )
    return text


# --- in a worker -----------------------------------------------------------------------------------------------------


@job_kind(BASELINE, gettext_noop("Human baseline"), quiet=lambda job: "unit" in job.parameters, untrusted=True)
def run_baseline(running: Running) -> dict[str, Any]:
    """Run a job of the kind ``baseline``: with a unit, its conversation goes on; without, the entries are prepared, or
    the answers scored.
    """
    parameters = running.job.parameters
    inference = Inference.objects.select_related("release__project").get(public_id=parameters["inference"])
    try:
        if "unit" in parameters:
            _go_on(running, inference, parameters["unit"])
        elif not inference.total:
            _prepare(running, inference)
        elif inference.done == inference.total and inference.predictions_id is None:
            score_answers(running, inference)
    except Unreadable as error:
        raise Invalid(str(error)) from None
    except SandboxUnavailable as why:
        raise Conflict(message("The code couldn’t be run. %(reason)s", reason=str(why))) from None
    return {"inference": inference.public_id}


def _prepare(running: Running, inference: Inference) -> None:
    """Store the first request of each conversation."""
    units = planned_units(running, inference)
    if len(units) > MAX_ENTRIES:
        raise Invalid(
            message(
                "The release has %(count)s entries. A person can answer %(most)s; choose fewer.",
                count=f"{len(units):,}", most=f"{MAX_ENTRIES:,}",
            )
        )  # fmt: skip
    rows = []
    for place, unit in enumerate(units, 1):
        rows.append(BaselineEntry(inference=inference, unit=unit.key, place=place, ask=_ask_json(next(unit.begin()))))
        running.beat()
    with running.chunk() as chunk:
        BaselineEntry.objects.bulk_create(rows)
        inference.total = len(rows)
        inference.save(update_fields=["total"])
        chunk.advance(done=0, total=len(rows), note="")


def _go_on(running: Running, inference: Inference, key: str) -> None:
    """Let one conversation go on after its latest reply."""
    if inference.entries.get(unit=key).state != BaselineState.SENT:
        return
    unit = next(one for one in planned_units(running, inference) if one.key == key)
    replies = list(inference.replies.filter(unit=key).order_by("number"))
    ask, record = _play(unit, [reply.message for reply in replies])
    with running.chunk():
        # One after the other, so that the one that is last knows it.
        inference = Inference.objects.select_for_update(no_key=True).get(pk=inference.pk)
        entry = inference.entries.get(unit=key)
        entry.number = len(replies)
        entry.ask = None if ask is None else _ask_json(ask)
        entry.state = BaselineState.ENDED if ask is None else BaselineState.DUE
        entry.save()
        if ask is not None:
            return
        InferenceAnswer.objects.create(inference=inference, unit=key, record=record)
        inference.done += 1
        if inference.done == inference.total:
            inference.job = start_job_of(
                inference.public_id, BASELINE, actor=inference.requester, project=inference.release.project,
                wake_worker=True,
            )  # fmt: skip
        inference.save(update_fields=["done", "job"])


def _play(unit: Unit, said: Sequence[Any]) -> tuple[Ask | None, dict[str, Any]]:
    """Return what is asked after these replies, or, with None, the record of the conversation."""
    conversation, taken = unit.begin(), set[str]()
    ask = next(conversation)
    for number, one in enumerate(said):
        try:
            ask = conversation.send(Reply(read_message(one, number=number, taken=taken)))
        except StopIteration as end:
            return None, end.value
    return ask, {}


def _ask_json(ask: Ask) -> dict[str, Any]:
    return {"messages": list(ask.messages), "tools": list(ask.tools)}
