"""Take single tasks the whole way with the real services: import, annotate, verify, compose, release, run again, score.

python docs/whole_way.py [--keep FOLDER]

It imports the demo's single tasks into a database of its own, which it deletes. People are played: they approve what is
right, and correct one task in which running has shown an unused call. ``--keep`` names a folder for the release.
"""

import argparse
import io
import json
import os
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

#: Tasks of the demo that are right as they are, and one with a correction.
RIGHT = (
    *("library_01", "library_02", "library_03", "garden_01", "garden_02", "garden_03", "workshop_01", "workshop_03"),
)
CORRECTED = {"library_06": "register(reader='Tom')\nlend(reader='Tom', title='Emma', days=7)"}


def main() -> None:
    """Run everything, and print the result of each step."""
    parser = argparse.ArgumentParser(description="Take single tasks from an import to scores.")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where to put the release")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="assay-whole-way-") as folder:
        os.environ |= {"ASSAY_DATA": folder, "DJANGO_SETTINGS_MODULE": "annotator.config.settings"}
        os.environ.pop("DATABASE_URL", None)
        import django
        from django.core.management import call_command

        django.setup()
        call_command("migrate", verbosity=0)
        way = Way()
        way.import_tasks()
        way.verify("single tasks")
        way.compose()
        way.verify("composites")
        archive = way.release()
        call_command("verify_release", str(archive), "--execute", stdout=io.StringIO())
        way.score()
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
            (options.keep / archive.name).write_bytes(archive.read_bytes())


def say(text: str) -> None:
    print(text, flush=True)


class Way:
    """One project with its people."""

    def __init__(self) -> None:
        from annotator.core.roles import Role
        from annotator.models import User
        from annotator.services.members import grant_role
        from annotator.services.projects import create_project
        from reviews.services.protocols.versions import adopt_preset

        self.project = create_project(actor=None, name="Whole way")
        adopt_preset(actor=None, project=self.project, preset="async")
        self.people = [User.objects.create(username=name, display_name=name) for name in ("Ann", "Ben", "Cem", "Ada")]
        for person, role in zip(self.people, (*[Role.ANNOTATOR] * 3, Role.ADMINISTRATOR), strict=True):
            grant_role(actor=None, project=self.project, user=person, role=role)
        self.administrator = self.people.pop()

    def import_tasks(self) -> None:
        """Import the tasks, and run every trajectory."""
        from benchmark.demo.project import FOLDER
        from benchmark.services.imports.requests import start_import

        folder, data = FOLDER / "singles", io.BytesIO()
        with zipfile.ZipFile(data, "w") as target:
            for path in sorted(folder.rglob("*")):
                if path.suffix == ".py" or path.name == "toolsets.jsonl":
                    target.write(path, path.relative_to(folder).as_posix())
            rows = (folder / "single_tasks.jsonl").read_text().splitlines()
            chosen = [row for row in rows if json.loads(row)["id"] in {*RIGHT, *CORRECTED}]
            target.writestr("single_tasks.jsonl", "\n".join(chosen))
        data.seek(0)
        start_import(
            actor=self.administrator,
            project=self.project,
            upload=data,
            filename="desks.zip",
            native_format="async",
            wake_worker=False,
        )
        run_jobs()
        found = self._dialogues().filter(error_count=0, warning_count=0).count()
        say(f"Imported {self._dialogues().count()} single tasks. Running them showed nothing in {found}.")

    def verify(self, what: str) -> None:
        """Validate what is open, then review everything in rounds until a round finds no error."""
        from annotator.models.content import DialogueStatus
        from reviews.models import Slot, SlotState
        from reviews.services.sampling.draws import close_population_and_draw

        rounds = 0
        while self._dialogues().exclude(status=DialogueStatus.VERIFIED).exists():
            slots = Slot.objects.filter(project=self.project, state=SlotState.OPEN).order_by("pk")
            for slot in slots.select_related("dialogue", "revision__toolset_revision"):
                self._review(slot)
            drawn = close_population_and_draw(actor=self.administrator, project=self.project)
            rounds += drawn is not None and not drawn.closing
        say(f"Verified {what} in {rounds} round{'s' if rounds != 1 else ''}.")

    def _review(self, slot: Any) -> None:
        """Approve an item, or correct it; by the first person who may."""
        from annotator.core.editing import apply
        from annotator.core.schema.toolsets import CompiledToolset
        from annotator.errors import DomainError
        from annotator.services.dialogues.untried import ensure_run, runnables
        from reviews.services.queue.claims import claim_slot
        from reviews.services.submission.submit import submit_review
        from reviews.services.submission.waivers import waive_all

        document, tools = slot.revision.document(), slot.revision.toolset_revision
        text = CORRECTED.get(slot.dialogue.external_id, "")
        changed = None
        if text and slot.revision.number == 1:
            operation = {"op": "set_calls", "anchor": f"/tasks/{document['tasks'][0]['id']}", "text": text}
            changed, _anchor = apply(document, operation, toolset=CompiledToolset.of(tools.content))
        for one in runnables(changed or document, tools):
            ensure_run(one)
        for person in self.people:
            try:
                claim = claim_slot(actor=person, slot=slot)
            except DomainError:
                continue  # They wrote this revision, or own the item.
            waive_all(actor=person, slot=slot, reason="The question gives the order.", document=changed or document)
            verdict = "fix" if changed else "approve"
            submit_review(actor=person, slot=slot, token=claim.token, verdict=verdict, document=changed)
            return

    def compose(self) -> None:
        """Draw composites."""
        from benchmark.core.composing.drawing import Kind
        from benchmark.services.composing import Request, read_coverage, start_composing

        for request in (Request(Kind.SIMILAR, 2, 1, 1), Request(Kind.CROSS, 2, 1, 1), Request(Kind.CROSS, 3, 1, 1)):
            start_composing(actor=self.administrator, project=self.project, request=request, wake_worker=False)
            run_jobs()
        _, used = read_coverage(self.project)
        say(f"Drew {self._dialogues('composite').count()} composites; uses of each task: {dict(used.singles)}.")

    def release(self) -> Path:
        """Release everything; return the archive."""
        from benchmark.models import Release
        from benchmark.services.releases.requests import archive_path, start_release

        start_release(
            actor=self.administrator, project=self.project, version="1.0", native_format="async", wake_worker=False
        )
        run_jobs()
        release = Release.objects.get(project=self.project)
        path = archive_path(release)
        say(f"Released {release.item_count} items; {release.left_out_count} were left out.")
        return path

    def score(self) -> None:
        """Score two players over all composites and delays: the reference, and one that leaves out the last task."""
        from annotator.core.composites.delays import NAMES, read_delay
        from annotator.core.composites.dialogue import Dialogue, play
        from annotator.core.composites.messages import COMPLETED, write_call_message, write_content
        from annotator.core.composites.reference import play_reference
        from annotator.core.composites.running import executed
        from benchmark.core.scoring.delayed import score_dialogue, summarise
        from benchmark.services.plays import load_members

        say("\n| player | delay | sub-tasks solved | composites solved | mean rounds of solved | errors |")
        say("|---|---|---|---|---|---|")
        documents = [one.head.document() for one in self._dialogues("composite").select_related("head") if one.head]
        for player in ("reference", "forgets the last task"):
            for name in NAMES:
                scores = []
                for document in documents:
                    members = load_members(actor=None, project=self.project, document=document)
                    gold = {member.id: member.subject.tool_calls for member in members}
                    known = {member.id: member.execution for member in members if member.execution}
                    dialogue = Dialogue(tuple(gold), read_delay(name), document["max_rounds"], executed(known))
                    if player == "reference":
                        play_reference(dialogue, gold)
                    else:
                        told = [
                            write_call_message(task, call.name, call.arguments)
                            for task in list(gold)[:-1]
                            for call in gold[task]
                        ]
                        play(dialogue, [*told, write_content(COMPLETED)])
                    scores.append(score_dialogue(dialogue, {member.id: member.gold for member in members}))
                found = summarise(scores)
                solved, rounds = found["task"]["overall"], found["rounds_of_solved"]
                errors = ", ".join(f"{kind} {count}" for kind, count in found["errors"].items()) or "none"
                say(f"| {player} | {name} | {found['sub_task']['acc']} % | {solved} % | {rounds or '–'} | {errors} |")

    def _dialogues(self, kind: str = "") -> Any:
        from annotator.models import Dialogue

        rows = Dialogue.objects.filter(project=self.project).order_by("external_id")
        return rows.filter(kind=kind) if kind else rows


def run_jobs() -> None:
    """Do what waits for a worker."""
    from annotator.services.jobs import jobs

    for job in _queued():
        jobs.run(job)


def _queued() -> Iterator[int]:
    from annotator.models import Job, JobState

    while job := Job.objects.filter(state=JobState.QUEUED).order_by("pk").first():
        yield job.pk


if __name__ == "__main__":
    main()
