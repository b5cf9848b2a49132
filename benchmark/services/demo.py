"""The demo project: people, candidates, and work in every stage, made through the services people use.

Nothing here writes a row that a person's own doing would not have written.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.contrib.auth.hashers import make_password

from annotator.models import Dialogue, Project, Role, User
from annotator.services import drafts, jobs, projects
from annotator.services.revisions import check_document
from benchmark.formats import READERS
from benchmark.models import ImportBatch
from benchmark.services.imports import start_import
from benchmark.services.releases import start_release
from reviews.models import Slot, SlotState
from reviews.services import claims, comments, sampling
from reviews.services.adjudication import load_dispute
from reviews.services.protocols import adopt_preset
from reviews.services.submissions import submit_review
from reviews.services.waivers import live_waivers, waive

FOLDER = Path(__file__).resolve().parent.parent / "demo"
SLUG = "everyday-assistants"
#: The other team's project, with constrained cases.
PILOT = "harbour-radio"
#: Said on the sign-in page too: the demo has no secrets.
PASSWORD = "assay-demo"  # noqa: S105 - the demo's people sign in by a button

#: The kind of fault that whoever changes a dialogue names: of the corrections, and of what colleagues disagree on.
FAULTS = {
    "gaotie-chuxing-02": "answer_wrong",
    "hotel-desk-03": "wrong_argument_value",
    "clinic-desk-03": "wrong_policy_label",
    "library-counter-03": "message_unnatural",
    "warehouse-stock-03": "superfluous_dependency",
    "home-energy-03": "observation_implausible",
    "city-events-03": "wrong_policy_label",
    "personal-finance-03": "wrong_argument_value",
    "code-repository-03": "wrong_information_label",
    "rail-travel-04": "missing_dependency",
    "hotel-desk-04": "wrong_argument_value",
    "clinic-desk-04": "answer_wrong",
    "library-counter-04": "other",
    "personal-finance-04": "wrong_policy_label",
    "rail-travel-01": "wrong_information_label",
    "rail-travel-03": "superfluous_call",
    "clinic-desk-01": "wrong_argument_value",
    "library-counter-01": "superfluous_dependency",
    "warehouse-stock-01": "clarification_wrong",
    "home-energy-01": "wrong_information_label",
    "home-energy-02": "message_unnatural",
    "personal-finance-01": "clarification_wrong",
    "city-events-02": "clarification_wrong",
}

SINGLE, MULTI, CROSS, EXPERT = "self_check_single", "self_check_multi", "cross_check", "expert"


@dataclass
class Cast:
    """Who plays: annotators take turns, so that everybody has something to show."""

    project: Project
    administrator: User
    seniors: list[User]
    annotators: list[User]
    corrections: dict[str, dict[str, Any]]
    disagreements: dict[str, dict[str, Any]]
    turn: int = field(default=0)

    def next_annotators(self, count: int) -> list[User]:
        """The next people in turn, all different."""
        self.turn += 1
        return [self.annotators[(self.turn + k) % len(self.annotators)] for k in range(count)]


def is_loaded() -> bool:
    """Whether the demo is there and whole."""
    return Project.objects.filter(slug=SLUG, releases__state="frozen").exists()


def load_demo(*, say: Callable[[str], None]) -> Project:
    """Make the demo: ``say`` hears what is being done."""
    people = _make_people()
    say("People and projects are there.")
    project = Project.objects.get(slug=SLUG)
    _import_candidates(people["ingrid"], project, "dialogues.jsonl", "wild")
    _import_candidates(people["lucia"], Project.objects.get(slug=PILOT), "cases.jsonl", "cctu")
    say("Candidates are imported.")
    cast = Cast(
        project=project,
        administrator=people["ingrid"],
        seniors=[people["yuki"], people["thandiwe"]],
        annotators=[people[name] for name in ("amina", "boris", "chen", "dilara")],
        corrections=_by_id("corrections.jsonl"),
        disagreements=_by_id("disagreements.jsonl"),
    )
    _play(cast)
    say("Colleagues have worked on them.")
    release = start_release(
        actor=cast.administrator, project=project, version="0.1", native_format="wild", wake_worker=False
    )
    jobs.run(release.job_id)
    say("Release 0.1 is frozen.")
    return project


def _make_people() -> dict[str, User]:
    cast = json.loads((FOLDER / "people.json").read_text())
    people: dict[str, User] = {}
    # Hashing is slow on purpose; they share a password, so once is enough.
    password = make_password(PASSWORD)
    for entry in cast["people"]:
        person, _ = User.objects.get_or_create(
            username=entry["username"],
            defaults={
                "display_name": entry["display_name"],
                "demo_note": entry["note"],
                "email": f"{entry['username']}@example.org",
                "is_staff": entry["username"] == "ingrid",
                "password": password,
            },
        )
        people[entry["username"]] = person
    for entry in cast["projects"]:
        project = Project.objects.filter(slug=entry["slug"]).first()
        if project is None:
            project = projects.create_project(
                actor=None, name=entry["name"], slug=entry["slug"], description=entry["description"]
            )
            Project.objects.filter(pk=project.pk).update(time_zone=entry["time_zone"])
            adopt_preset(actor=None, project=project, preset=entry.get("preset", "c3"))
        for member in cast["people"]:
            for membership in member["memberships"]:
                if membership["project"] == entry["slug"]:
                    for role in membership["roles"]:
                        projects.grant_role(
                            actor=None, project=project, user=people[member["username"]], role=Role(role)
                        )
    project = Project.objects.get(slug=SLUG)
    if not project.guidelines.exists():
        projects.publish_guideline(
            actor=people["ingrid"],
            project=project,
            text=(FOLDER / "guideline.md").read_text(),
            note="First version",
            seen=0,
        )
    return people


def _import_candidates(administrator: User, project: Project, name: str, native_format: str) -> ImportBatch:
    path = FOLDER / name
    batch = start_import(
        actor=administrator,
        project=project,
        path=path,
        filename=path.name,
        native_format=native_format,
        dry_run=False,
        revise=False,
    )
    jobs.run(batch.job_id)
    return batch


def _play(cast: Cast) -> None:
    """Bring dialogues as far as their place in the file says; disputed and faulty ones go their own ways."""
    dialogues = list(Dialogue.objects.filter(project=cast.project).order_by("pk"))
    untouched = {"library-counter-02", "rail-travel-02", "city-events-04", "warehouse-stock-04", "home-energy-04"}
    finished = 0
    for n, dialogue in enumerate(d for d in dialogues if d.external_id not in untouched):
        name = dialogue.external_id
        owner, first, second = cast.next_annotators(3)
        if cast.corrections.get(name, {}).get("verdict") == "reject":
            _do(cast, owner, dialogue, SINGLE, "escalate", reason=cast.corrections[name]["reason"])
            _do(cast, cast.seniors[0], dialogue, EXPERT, "reject", reason=cast.corrections[name]["reason"])
            continue
        if n % 9 == 7 and name not in cast.corrections:
            continue
        _self_check(cast, owner, dialogue, SINGLE)
        if n % 7 == 5:
            continue
        _do(cast, owner, dialogue, MULTI, "approve")
        if n % 8 == 6:
            # Half of the cross-check is in, blind: the second colleague still has to look.
            _do(cast, first, dialogue, CROSS, "approve")
            continue
        if name in cast.disagreements:
            other = cast.disagreements[name]
            _do(cast, first, dialogue, CROSS, "approve")
            _do(cast, second, dialogue, CROSS, "fix", record=other["record"], reason=other["reason"])
            if finished % 3 == 0:
                _settle(cast, dialogue)
            finished += 1
            continue
        _do(cast, first, dialogue, CROSS, "approve")
        _do(cast, second, dialogue, CROSS, "approve")
    sampling.close_population_and_draw(actor=cast.administrator, project=cast.project)
    sampled = Slot.objects.filter(
        project=cast.project, stage=EXPERT, state=SlotState.OPEN, stage_run__entered_as="sampled"
    ).select_related("dialogue")
    for slot in sampled:
        _do(cast, cast.seniors[1], slot.dialogue, EXPERT, "approve")
    # A second wave passes after the draw and waits for the next one.
    for name in ("library-counter-02", "rail-travel-02"):
        dialogue = Dialogue.objects.get(project=cast.project, external_id=name)
        owner, first, second = cast.next_annotators(3)
        _self_check(cast, owner, dialogue, SINGLE)
        _do(cast, owner, dialogue, MULTI, "approve")
        _do(cast, first, dialogue, CROSS, "approve")
        _do(cast, second, dialogue, CROSS, "approve")
    _leave_half_finished(cast)


def _self_check(cast: Cast, person: User, dialogue: Dialogue, stage: str) -> None:
    correction = cast.corrections.get(dialogue.external_id)
    if correction is None:
        _do(cast, person, dialogue, stage, "approve")
    else:
        _do(cast, person, dialogue, stage, "fix", record=correction["record"], reason=correction["reason"])


def _settle(cast: Cast, dialogue: Dialogue) -> None:
    """The expert takes one reviewer's side throughout."""
    dispute = load_dispute(_open_slot(dialogue, EXPERT))
    if dispute is None:
        return
    rulings = {
        place.anchor: {
            "choice": "left",
            "reason_kind": FAULTS.get(dialogue.external_id, "other"),
            "reason": "The version under review holds.",
        }
        for place in dispute.places
    }
    _do(cast, cast.seniors[0], dialogue, EXPERT, "", rulings=rulings)


def _leave_half_finished(cast: Cast) -> None:
    amina = cast.annotators[0]
    dialogue = Dialogue.objects.get(project=cast.project, external_id="warehouse-stock-04")
    claim = claims.claim_slot(actor=amina, slot=_open_slot(dialogue, SINGLE))
    slot = claim.slot
    draft = drafts.open_draft(actor=amina, dialogue=dialogue, base=slot.revision, branch="main")
    task = draft.document()["tasks"][0]
    drafts.edit_draft(
        actor=amina,
        draft=draft,
        operation={
            "op": "set",
            "anchor": f"/tasks/{task['id']}/user_message",
            "value": task["user_message"] + " Thanks!",
        },
        seen=draft.version,
    )
    comments.add_comment(
        actor=amina,
        work=claims.load_work(actor=amina, public_id=slot.public_id),
        anchor=f"/tasks/{task['id']}",
        text="Is this still one request, or two? I would keep it as one.",
    )


def _do(
    cast: Cast,
    person: User,
    dialogue: Dialogue,
    stage: str,
    verdict: str,
    *,
    record: dict[str, Any] | None = None,
    reason: str = "",
    rulings: dict[str, Any] | None = None,
) -> None:
    """Claim the dialogue's slot of a stage and submit."""
    claim = claims.claim_slot(actor=person, slot=_open_slot(dialogue, stage))
    document = _document(record) if record is not None else None
    if verdict in ("approve", "fix"):
        _waive(person, claim.slot, document or claim.slot.revision.document())
    names_a_fault = verdict == "fix" or (verdict == "reject" and not rulings)
    kind = FAULTS.get(dialogue.external_id) if names_a_fault else None
    submit_review(
        actor=person,
        slot=claim.slot,
        token=claim.token,
        verdict=verdict,
        document=document,
        findings=[{"kind": kind, "anchor": "", "note": ""}] if kind else [],
        reason=reason,
        rulings=rulings or {},
    )


def _waive(person: User, slot: Slot, document: dict[str, Any]) -> None:
    """Say of each open warning that it was looked at."""
    work = claims.load_work(actor=person, public_id=slot.public_id)
    known = live_waivers(actor=person, dialogue=slot.dialogue)
    for finding in check_document(document, slot.revision.toolset_revision, project=slot.project, stage="submit"):
        if finding.severity == "warning" and (finding.check, finding.anchor, finding.value_hash) not in known:
            waive(
                actor=person,
                work=work,
                check=finding.check,
                anchor=finding.anchor,
                value_hash=finding.value_hash,
                reason="Looked at it: right in this dialogue.",
            )


def _open_slot(dialogue: Dialogue, stage: str) -> Slot:
    return Slot.objects.filter(dialogue=dialogue, stage=stage, state=SlotState.OPEN).order_by("index")[0]


def _document(record: dict[str, Any]) -> dict[str, Any]:
    return READERS["wild"].read(record)[0].document


def _by_id(name: str) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in _lines(FOLDER / name)}


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)
