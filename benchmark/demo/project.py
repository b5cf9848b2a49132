"""The demo project: people, candidates, and weeks of work in every stage, made through the services people use.

Nothing here writes a row that a person's own doing would not have written; only the time is told, not lived through
(``benchmark.demo.clock``).
"""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, time
from pathlib import Path
from typing import Any

from django.contrib.auth.hashers import make_password
from django.db import transaction
from django.utils import timezone

from annotator.errors import Conflict
from annotator.models import Project, Role, User
from annotator.services import projects
from annotator.services.jobs import jobs
from benchmark.demo import constrained_cases, weeks
from benchmark.demo.clock import Clock, pretending, working_days
from benchmark.demo.desk import Cast
from benchmark.models import ImportBatch
from benchmark.services.imports.requests import start_import
from benchmark.services.releases.requests import start_release
from reviews.services.protocols.versions import adopt_preset
from reviews.services.statistics.all_counts import fold_all

FOLDER = Path(__file__).resolve().parent / "data"
SLUG = "everyday-assistants"
#: The other team's project, with constrained cases.
PILOT = "harbour-radio"
#: Said on the sign-in page too: the demo has no secrets.
PASSWORD = "assay-demo"  # noqa: S105 - the demo's people sign in by a button


def is_loaded() -> bool:
    """Whether the demo is there and whole."""
    return Project.objects.filter(slug=SLUG, releases__state="frozen").exists()


@transaction.atomic
def load_demo(*, say: Callable[[str], None]) -> Project:
    """Make the demo, wholly or not at all: ``say`` hears what is being done.

    Raises Conflict where one of its projects is there: half a demo of an earlier version, or a team's own.
    """
    there = Project.objects.filter(slug__in=(SLUG, PILOT)).order_by("slug").first()
    if there is not None:
        raise Conflict(
            f"The project “{there.slug}” is there already, and not as the demo makes it: half a demo, if making it was "
            "interrupted. Begin with an empty database: make demo-reset deletes the one of make demo (var/demo)."
        )
    days = working_days(12, before=timezone.localdate())
    clock = Clock(datetime.combine(days[0], time(7), UTC))
    with pretending(clock):
        people = _make_people()
        say("People and projects are there.")
        project = Project.objects.get(slug=SLUG)
        _import_candidates(people["ingrid"], project, "dialogues.jsonl", "wild")
        _import_candidates(people["lucia"], Project.objects.get(slug=PILOT), "cases.jsonl", "cctu")
        say("Candidates are imported.")
        cast = Cast(
            project=project,
            clock=clock,
            days=days,
            administrator=people["ingrid"],
            seniors=[people["yuki"], people["thandiwe"]],
            annotators=[people[name] for name in ("amina", "boris", "chen", "dilara")],
            corrections=_by_id("corrections.jsonl"),
            disagreements=_by_id("disagreements.jsonl"),
            records=_by_id("dialogues.jsonl"),
        )
        weeks.play_first_weeks(cast)
        weeks.play_last_week(cast)
        say("Colleagues have worked on them.")
        release = start_release(
            actor=cast.administrator, project=project, version="0.1", native_format="wild", wake_worker=False
        )
        jobs.run(release.job_id)
        say("Release 0.1 is frozen.")
        weeks.play_since_the_release(cast)
        constrained_cases.play(Project.objects.get(slug=PILOT), people, say=say, pass_by=clock.pass_by)
    weeks.leave_half_finished(cast)
    fold_all()
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


def _by_id(name: str) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in _lines(FOLDER / name)}


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)
