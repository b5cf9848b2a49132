"""Rows for tests: people, projects with somebody in every role, dialogues with revisions, a protocol in force.

Small and fast: rows are written directly, passwords are unusable (sign in with ``client.force_login``), and a
document's content is valid and free of findings unless a test breaks it.

    team = make_team()                                  # a project, people in every role and an outsider
    adopt_c3(team)                                      # its protocol
    dialogue = make_dialogue(team.project)              # published, one revision, no cycle yet
    begin(team.project, [dialogue])                     # its first cycle: a slot waits in the first self-check
    claim_and_submit(team.annotator, dialogue, "approve")        # claim its open slot and submit
    make_item(team, "cross_check")                      # all of that, up to a stage
"""

import itertools
from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from annotator.core.schema import canonical, content_hash, read_document
from annotator.models import Dialogue, Membership, Project, Revision, Role, Toolset, ToolsetRevision, User
from annotator.models.keys import new_public_ids
from annotator.services.dialogues.untried import ensure_run, runnables
from annotator.services.toolsets.storing import add_revision

_numbers = itertools.count(1)


# --- people and projects ----------------------------------------------------------------------------------------------


def make_user(name: str = "", **fields: Any) -> User:
    """A person who can sign in by ``client.force_login`` only."""
    name = name or f"person{next(_numbers)}"
    fields = {
        "display_name": name.capitalize(), "email": f"{name}@example.org", "password": "!", "language": "en",
        # They know the tour, which would cover the page.
        "toured_at": timezone.now(),
    } | fields  # fmt: skip
    return User.objects.create(username=name, **fields)


def make_project(slug: str = "", **fields: Any) -> Project:
    """A project with nobody in it."""
    slug = slug or f"project{next(_numbers)}"
    return Project.objects.create(**{"slug": slug, "name": slug.capitalize()} | fields)


def give_role(project: Project, user: User, *roles: Role) -> User:
    """Make ``user`` a member with these roles."""
    Membership.objects.bulk_create(Membership(project=project, user=user, role=role) for role in roles)
    return user


@dataclass
class Team:
    """A project with somebody in every role, and ``outsider``, who is no member of it."""

    project: Project
    administrator: User
    annotators: list[User]
    seniors: list[User]
    outsider: User

    @property
    def annotator(self) -> User:
        return self.annotators[0]

    @property
    def senior(self) -> User:
        return self.seniors[0]

    @property
    def everybody(self) -> list[User]:
        return [self.administrator, *self.annotators, *self.seniors, self.outsider]


def make_team(slug: str = "", *, annotators: int = 3, seniors: int = 1) -> Team:
    """A new project with one administrator, that many annotators and senior reviewers, and an outsider."""
    project = make_project(slug)
    tag = project.slug

    def member(name: str, role: Role) -> User:
        return give_role(project, make_user(f"{name}-{tag}", display_name=name.capitalize()), role)

    return Team(
        project=project,
        administrator=member("ada", Role.ADMINISTRATOR),
        annotators=[member(f"ann{n}", Role.ANNOTATOR) for n in range(1, annotators + 1)],
        seniors=[member(f"sam{n}", Role.SENIOR_REVIEWER) for n in range(1, seniors + 1)],
        outsider=make_user(f"oskar-{tag}", display_name="Oskar"),
    )


# --- documents --------------------------------------------------------------------------------------------------------

WEATHER_TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Weather of a city on a day.",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string", "description": "Name of the city."},
                    "date": {"type": "string", "description": "The day, as YYYY-MM-DD."},
                },
                "required": ["city"],
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "find_trains",
            "description": "Trains between two cities.",
            "parameters": {
                "type": "object",
                "properties": {"origin": {"type": "string"}, "destination": {"type": "string"}},
                "required": ["origin", "destination"],
            },
        },
    },
]


def depends(*ids: str) -> list[dict[str, str]]:
    """``depends_on`` with parameter edges."""
    return [{"id": step, "kind": "parameter"} for step in ids]


def make_document(tag: str = "", *, tasks: int = 1) -> dict[str, Any]:
    """A complete document; ``tag`` tells its texts from another's. Tasks after the first refer to the one before."""
    city = f"Ghent {tag}".strip()
    out: list[dict[str, Any]] = [
        {
            "id": "t1",
            "user_message": f"What is the weather like in {city}?",
            "policy": "single_tool",
            "information": "explicit",
            "steps": [
                {
                    "id": "s0",
                    "type": "call",
                    "name": "get_weather",
                    "arguments": {"city": city},
                    "observation": {"sky": "clear", "degrees": 18},
                    "depends_on": [],
                },
                {
                    "id": "s1",
                    "type": "answer",
                    "text": f"It is clear and 18 degrees in {city}.",
                    "answer_type": "tool",
                    "depends_on": depends("s0"),
                },
            ],
        }
    ]
    for n in range(2, tasks + 1):
        out.append(
            {
                "id": f"t{n}",
                "user_message": "Thank you, that is good news."
                if n % 2 == 0
                else "And would you take an umbrella there?",
                "policy": "chat",
                "information": "coreferential_reference",
                "steps": [
                    {
                        "id": "s0",
                        "type": "answer",
                        "text": "You are welcome; enjoy the sun." if n % 2 == 0 else "No, the sky stays clear there.",
                        "answer_type": "chat",
                        "depends_on": [],
                    }
                ],
            }
        )
    return read_document({"kind": "multi_turn", "language": "en", "env_info": "2025-05-02", "tasks": out})


def changed(document: dict[str, Any], text: str = "It is sunny, 18 degrees.") -> dict[str, Any]:
    """A copy whose first task's answer reads ``text``: the smallest fix there is."""
    copy = deepcopy(document)
    copy["tasks"][0]["steps"][-1]["text"] = text
    return copy


def broken(document: dict[str, Any]) -> dict[str, Any]:
    """A copy whose first call breaks its tool's schema: one error finding."""
    copy = deepcopy(document)
    copy["tasks"][0]["steps"][0]["arguments"] = {"town": "Ghent"}
    return copy


# --- dialogues --------------------------------------------------------------------------------------------------------


def make_toolset(project: Project, tools: list[dict[str, Any]] | None = None, name: str = "weather") -> ToolsetRevision:
    """The project's toolset with these tools; made once."""
    text = canonical({"tools": WEATHER_TOOLS if tools is None else tools})
    known = ToolsetRevision.objects.filter(project=project, content_hash=content_hash(text)).first()
    if known is not None:
        return known
    return add_revision(None, Toolset.objects.create(project=project, name=name), text, number=1)


def make_dialogue(
    project: Project,
    document: dict[str, Any] | None = None,
    *,
    external_id: str = "",
    toolset: ToolsetRevision | None = None,
    **fields: Any,
) -> Dialogue:
    """A published dialogue with one revision, its head; labels and findings are as an import would set them."""
    from annotator.services.dialogues.revisions import check_document, denormalise, finding_rows

    # Letters that no public id has, so that a page without this dialogue never contains its name by chance.
    external_id = external_id or f"dialogue{next(_numbers)}"
    document = make_document(external_id) if document is None else read_document(document)
    toolset = toolset or make_toolset(project)
    text = canonical(document)
    dialogue = Dialogue.objects.create(
        project=project, external_id=external_id, content_hash=content_hash(text), title="", **fields
    )
    revision = Revision.objects.create(
        dialogue=dialogue, number=1, toolset_revision=toolset, content=text, content_hash=dialogue.content_hash
    )
    findings = check_document(document, toolset, project=project, stage="import")
    dialogue.head, dialogue.toolset_id = revision, toolset.toolset_id
    denormalise(dialogue, document, findings)
    dialogue.save()
    dialogue.findings.bulk_create(finding_rows(dialogue, revision, findings))
    _count(dialogue)
    return dialogue


def make_dialogues(project: Project, count: int, **fields: Any) -> list[Dialogue]:
    """Many published dialogues at once, in few statements; titles and labels are rough, findings none."""
    toolset = make_toolset(project)
    start = next(_numbers)
    documents = [canonical(make_document(f"{start}-{n}")) for n in range(count)]
    rows = [
        Dialogue(
            public_id=public_id,
            project=project,
            external_id=f"m{start}-{n:06}",
            content_hash=content_hash(text),
            title=f"What is the weather like in Ghent {start}-{n}?",
            policies=",single_tool,",
            topologies=",single,",
            information=",explicit,",
            topology_tally="single:1",
            information_tally="explicit:1",
            toolset_id=toolset.toolset_id,
            language="en",
            task_count=1,
            call_count=1,
            **fields,
        )
        for (n, text), public_id in zip(enumerate(documents), new_public_ids(count), strict=True)
    ]
    Dialogue.objects.bulk_create(rows, batch_size=1000)
    revisions = Revision.objects.bulk_create(
        (
            Revision(
                dialogue=row,
                number=1,
                toolset_revision=toolset,
                content=text,
                content_hash=row.content_hash,
                public_id=key,
            )
            for row, text, key in zip(rows, documents, new_public_ids(count), strict=True)
        ),
        batch_size=1000,
    )
    for row, revision in zip(rows, revisions, strict=True):
        row.head = revision
    Dialogue.objects.bulk_update(rows, ["head"], batch_size=500)
    _count(*rows)
    return rows


def _count(*dialogues: Dialogue) -> None:
    """Publishing dialogues also counts them."""
    from reviews.services.statistics.counters import write_deltas

    published = [dialogue for dialogue in dialogues if dialogue.published]
    if published:
        status = f"status:{published[0].status}"
        write_deltas(project_id=published[0].project_id, deltas={status: len(published)})


# --- review -----------------------------------------------------------------------------------------------------------


def adopt_c3(team: Team, *, conditions: bool = False, **options: Any) -> Any:
    """Put the ``c3`` protocol in force; returns its version. Without ``conditions`` every question is asked about a
    dialogue with one task, too.
    """
    from reviews.core.protocols import Applies
    from reviews.services.protocols.versions import adopt_protocol, translated_preset

    protocol = translated_preset("c3", **options)
    if not conditions:
        definition = protocol.model_dump()
        for item in (item for stage in definition["stages"] for item in stage["checklist"]["items"]):
            item["applies"] = Applies.ALWAYS
        protocol = type(protocol).model_validate(definition)
    return adopt_protocol(actor=team.administrator, project=team.project, protocol=protocol)


def begin(project: Project, dialogues: Sequence[Dialogue] | Iterable[Dialogue]) -> list[Dialogue]:
    """Begin a cycle for each dialogue; returns them fresh from the database."""
    from reviews.services.cycles.start import begin_cycles

    dialogues = list(dialogues)
    begin_cycles(actor=None, project=project, dialogues=dialogues, hidden=False)
    return list(Dialogue.objects.filter(pk__in=[d.pk for d in dialogues]).order_by("pk"))


def open_slot(dialogue: Dialogue, person: User | None = None) -> Any:
    """The dialogue's slot that somebody can take now: the person's own, one reserved for them, else the first open."""
    from reviews.models import Slot

    slots = list(Slot.objects.filter(dialogue=dialogue, state__in=["open", "claimed"]).order_by("index"))
    open_ones = [slot for slot in slots if slot.state == "open"]
    # One query, because most tests of reviews come here several times.
    mine = [slot for slot in slots if slot.holder_id == person.pk] if person is not None else []
    reserved = [slot for slot in open_ones if slot.reserved_for_id == person.pk] if person is not None else []
    return next(iter([*mine, *reserved, *open_ones, *slots]), None)


def claim_and_submit(person: User, dialogue: Dialogue, verdict: str = "", **submission: Any) -> Any:
    """Claim the dialogue's open slot and submit; returns the review. Refusing and overruling get a reason by itself."""
    from reviews.services.queue.claims import claim_slot
    from reviews.services.submission.submit import submit_review

    slot = open_slot(dialogue, person)
    assert slot is not None, f"{dialogue} has no slot to take"
    # As a worker would have done by then.
    for one in runnables(submission.get("document") or slot.revision.document(), slot.revision.toolset_revision):
        ensure_run(one)
    claim = claim_slot(actor=person, slot=slot)
    if verdict in ("reject", "escalate"):
        submission.setdefault("reason", "It cannot be saved.")
    elif slot.stage_run.disputed_run is not None and "rulings" not in submission:
        submission.setdefault("reason", "It is right.")
    return submit_review(actor=person, slot=slot, token=claim.token, verdict=verdict, **submission)


STAGES = ("self_check_single", "self_check_multi", "cross_check", "expert")


def make_item(team: Team, stage: str, document: dict[str, Any] | None = None, *, external_id: str = "") -> Dialogue:
    """A dialogue that waits in a stage of ``c3``, owned by the team's first annotator.

    ``expert`` means escalated: the second annotator approved, the third changed the answer of the first task.
    """
    dialogue = make_dialogue(team.project, document, external_id=external_id)
    begin(team.project, [dialogue])
    if stage != STAGES[0]:
        claim_and_submit(team.annotator, dialogue)
    if stage in STAGES[2:]:
        claim_and_submit(team.annotator, dialogue)
    if stage == STAGES[3]:
        claim_and_submit(team.annotators[1], dialogue, "approve")
        claim_and_submit(team.annotators[2], dialogue, "fix", document=changed(current(dialogue)))
    dialogue.refresh_from_db()
    return dialogue


def current(dialogue: Dialogue) -> dict[str, Any]:
    """The document that the dialogue's head holds now."""
    head = Dialogue.objects.select_related("head").get(pk=dialogue.pk).head
    assert head is not None
    return head.document()
