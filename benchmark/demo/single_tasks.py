"""The demo's third project: single tasks over three stateful tools, verified by running them.

Half of the tasks are verified. In three of them, people fixed what running had shown. Others wait with the findings of
their first run: a missing call, a tool that gives something else each time, an ambiguous question (see
``benchmark/demo/data/README.md``). Ten composites are drawn from the verified tasks: some are verified, one
waits for a senior reviewer, and in one a task was replaced.
"""

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from annotator.core.editing import apply
from annotator.core.schema.toolsets import CompiledToolset
from annotator.errors import Conflict
from annotator.models import Dialogue, Project, User
from annotator.services.dialogues.composites import with_member
from annotator.services.dialogues.untried import ensure_run, runnables
from annotator.services.jobs import jobs
from benchmark.core.composing.drawing import Kind
from benchmark.services.composing import Request, read_singles, start_composing
from benchmark.services.releases.requests import start_release
from reviews.models import Slot, SlotState
from reviews.services.queue import claims
from reviews.services.submission.submit import submit_review
from reviews.services.submission.waivers import waive_all

SLUG = "three-desks"
#: Seconds that the review of a task takes.
_REVIEW_SECONDS = 300
#: Approved as they were imported, one by each person in turn.
_RIGHT = (
    *("library_01", "library_02", "library_03", "garden_01", "garden_02", "garden_03", "workshop_01", "workshop_03"),
    "garden_04",
)
#: What people changed, and why: the next person approves it.
_FIXED = {
    "library_06": (
        "register(reader='Tom')\nlend(reader='Tom', title='Emma', days=7)",
        "Nothing uses the search: the question names the title.",
    ),
    "garden_06": (
        "harvest(bed='1')\nread_sensor(bed='1')",
        "The same call twice.",
    ),
    "workshop_04": (
        "fit_part('J1', 'brake pad')\nfit_part('J1', 'bell')\nfinish_job('J1')",
        "The question also asks for a bell, which was not fitted.",
    ),
}


def archive(folder: Path) -> io.BytesIO:
    """Return the tasks, toolsets and code of a folder as an archive to import."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as target:
        for path in sorted(folder.rglob("*")):
            if path.suffix in (".jsonl", ".py"):
                target.write(path, path.relative_to(folder).as_posix())
    data.seek(0)
    return data


def play(
    project: Project, people: dict[str, User], *, log: Callable[[str], None], advance: Callable[[float], None]
) -> None:
    """Review tasks and release the verified ones. If this machine cannot run code, they stay as they were imported."""
    chen, dilara, emeka = (people[name] for name in ("chen", "dilara", "emeka"))
    reviews = _Reviews(project, advance)
    try:
        for number, name in enumerate(_RIGHT):
            reviews.review((chen, dilara)[number % 2], name)
        for name, (calls, note) in _FIXED.items():
            reviews.review(dilara, name, {"op": "set_calls", "anchor": "/tasks/t1", "text": calls}, note)
            # One is left for the next person.
            if name != "workshop_04":
                reviews.review(chen, name)
        slot = reviews.slot("library_07")
        claim = claims.claim_slot(actor=emeka, slot=slot)
        submit_review(
            actor=emeka,
            slot=slot,
            token=claim.token,
            verdict="escalate",
            reason="Emma and Dracula are both on the shelf. The question must name the book.",
        )
    except Conflict as problem:
        log(f"The tasks of Three desks stay as they were imported: {problem}")
        return
    _play_composites(project, people, advance)
    release = start_release(
        actor=people["rafael"], project=project, version="0.1", native_format="async", wake_worker=False
    )
    jobs.run(release.job_id)
    log("Reviewed the tasks of Three desks and published a release.")


#: What is drawn: ten composites.
_DRAWS = (Request(Kind.CROSS, 2, 2, 1), Request(Kind.SIMILAR, 2, 1, 1), Request(Kind.CROSS, 3, 1, 1))


def _play_composites(project: Project, people: dict[str, User], advance: Callable[[float], None]) -> None:
    """Draw composites and review some of them."""
    chen, dilara, emeka = (people[name] for name in ("chen", "dilara", "emeka"))
    for request in _DRAWS:
        batch, _ = start_composing(actor=people["rafael"], project=project, request=request, wake_worker=False)
        jobs.run(batch.job_id)
    reviews = _Reviews(project, advance)
    for name in ("cross2_1_000", "cross2_1_001", "similar2_1_000"):
        reviews.review(chen, name)
    composite = reviews.tasks["cross2_1_002"]
    document = reviews.slot("cross2_1_002").revision.document()
    used = {task["single"] for task in document["tasks"]}
    first = document["tasks"][0]
    other = next(one.id for one in read_singles(project) if one.category == first["category"] and one.id not in used)
    operation = with_member(
        actor=dilara,
        dialogue=composite,
        operation={
            "op": "replace_task",
            "anchor": f"/tasks/{first['id']}",
            "single": other,
            "reason": "Both questions begin with the same words.",
        },
    )
    reviews.review(dilara, "cross2_1_002", operation, "The tasks sound alike.")
    slot = reviews.slot("cross2_1_003")
    claim = claims.claim_slot(actor=emeka, slot=slot)
    reason = "The two questions read like one task."
    submit_review(actor=emeka, slot=slot, token=claim.token, verdict="reject", reason=reason)


class _Reviews:
    """Reviews tasks of a project one after another."""

    def __init__(self, project: Project, advance: Callable[[float], None]) -> None:
        self.tasks = {task.external_id: task for task in Dialogue.objects.filter(project=project)}
        self.advance = advance

    def slot(self, name: str) -> Slot:
        return Slot.objects.get(dialogue=self.tasks[name], state=SlotState.OPEN)

    def review(self, person: User, name: str, operation: dict[str, Any] | None = None, note: str = "") -> None:
        """Approve a task, or edit it first, for the reason ``note``."""
        slot = self.slot(name)
        document: dict[str, Any] = slot.revision.document()
        tools = slot.revision.toolset_revision
        if operation:
            document, _ = apply(document, operation, toolset=CompiledToolset.of(tools.content))
        # Workers do this when a draft is saved. Run it before the claim, so that no claim remains if it fails.
        for one in runnables(document, tools):
            ensure_run(one)
        claim = claims.claim_slot(actor=person, slot=slot)
        self.advance(_REVIEW_SECONDS)
        claims.heartbeat(actor=person, token=claim.token, active_seconds=_REVIEW_SECONDS)
        waive_all(actor=person, slot=slot, reason="The question gives the order.", document=document)
        submit_review(
            actor=person,
            slot=slot,
            token=claim.token,
            verdict="fix" if operation else "approve",
            document=document if operation else None,
            named_errors=[{"kind": "other", "anchor": "", "note": note}] if operation else [],
        )
