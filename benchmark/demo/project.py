"""Create the demo: people, candidates and weeks of work in every stage.

Calls the services that pages call, so all rows are as if people had done the work. Only the time is simulated
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
from annotator.services import members, projects
from annotator.services.jobs import jobs
from benchmark.demo import (
    constrained_cases,
    errata,
    generations,
    language_variants,
    questions,
    scripted_endpoint,
    scripted_models,
    single_tasks,
    toolset_reviews,
    toolsets,
    training,
    weeks,
)
from benchmark.demo.clock import Clock, using_clock, working_days
from benchmark.demo.reviewing import Scenario
from benchmark.models import Release
from benchmark.services.coverage.targets import change_target
from benchmark.services.imports.requests import start_import
from benchmark.services.releases.requests import start_release
from benchmark.services.releases.settings import change_settings
from reviews.services.protocols.versions import adopt_preset
from reviews.services.statistics.all_counts import fold_all

FOLDER = Path(__file__).resolve().parent / "data"
SLUG = "everyday-assistants"
#: The second project, of another team, with constrained cases.
HARBOUR = "harbour-radio"
#: The member whose first day it is.
NEWCOMER = "noor"
#: The sign-in page shows it too.
PASSWORD = "assay-demo"  # noqa: S105 - the demo's people sign in by a button


def is_loaded() -> bool:
    """Return whether the demo exists and is complete."""
    return Project.objects.filter(slug=SLUG, releases__state="frozen").exists()


@transaction.atomic
def load_demo(*, log: Callable[[str], None]) -> Project:
    """Create the demo, in one transaction. ``log`` receives a line for each step.

    Raises Conflict if one of its projects exists: an incomplete demo of an earlier version, or a team's own project.
    """
    existing = Project.objects.filter(slug__in=(SLUG, HARBOUR, single_tasks.SLUG)).order_by("slug").first()
    if existing is not None:
        raise Conflict(
            f"The project “{existing.slug}” already exists, but the demo is not complete. Use an empty database. "
            "If you use make demo, run make demo-reset, which deletes var/demo."
        )
    days = working_days(12, before=timezone.localdate())
    clock = Clock(datetime.combine(days[0], time(7), UTC))
    with using_clock(clock):
        people = _make_people()
        log("Created people and projects.")
        project = Project.objects.get(slug=SLUG)
        _import_candidates(people["ingrid"], project, "dialogues.jsonl", "wild")
        _import_candidates(people["lucia"], Project.objects.get(slug=HARBOUR), "cases.jsonl", "cctu")
        desks = Project.objects.get(slug=single_tasks.SLUG)
        batch = start_import(
            actor=people["rafael"],
            project=desks,
            upload=single_tasks.archive(FOLDER / "singles"),
            filename="three_desks.zip",
            native_format="async",
        )
        jobs.run(batch.job_id)
        toolsets.describe(FOLDER, project, people["ingrid"])
        toolsets.import_ferries(FOLDER, project, people["ingrid"])
        _import_candidates(people["ingrid"], project, language_variants.FILE, "wild")
        log("Imported candidates.")
        scenario = Scenario(
            project=project,
            clock=clock,
            days=days,
            administrator=people["ingrid"],
            seniors=[people["yuki"], people["thandiwe"]],
            annotators=[people[name] for name in ("amina", "boris", "chen", "dilara")],
            corrections=records_by_id("corrections.jsonl"),
            disagreements=records_by_id("disagreements.jsonl"),
            records=records_by_id("dialogues.jsonl"),
        )
        weeks.play_first_weeks(scenario)
        weeks.play_last_week(scenario)
        log("Reviewed dialogues.")
        release = start_release(
            actor=scenario.administrator, project=project, version="0.1", native_format="wild", wake_worker=False
        )
        jobs.run(release.job_id)
        log("Published release 0.1.")
        weeks.play_after_release(scenario)
        questions.play(scenario)
        language_variants.play(scenario)
        log("Answered custom fields and suggested values.")
        toolset_reviews.play(project, people, clock, unfinished=toolsets.FERRIES)
        log("Reviewed toolsets.")
        constrained_cases.play(Project.objects.get(slug=HARBOUR), people, log=log, advance=clock.advance)
        single_tasks.play(desks, people, log=log, advance=clock.advance)
        releases = list(Release.objects.order_by("pk").select_related("project", "requester"))
        scripted_models.play(releases, log)
        scripted_endpoint.play(releases, log)
        release.refresh_from_db()
        errata.play(release, people["chen"], log)
        generations.play(project, people, log=log)
    weeks.leave_half_finished(scenario)
    training.set_up(scenario, exempt=people["emeka"])
    fold_all()
    return project


def _make_people() -> dict[str, User]:
    data = json.loads((FOLDER / "people.json").read_text())
    people: dict[str, User] = {}
    # Hashing is slow, so hash the common password once.
    password = make_password(PASSWORD)
    for entry in data["people"]:
        person, _ = User.objects.get_or_create(
            username=entry["username"],
            defaults={
                "display_name": entry["display_name"],
                "demo_note": entry["note"],
                "email": f"{entry['username']}@example.org",
                "is_staff": entry["username"] == "ingrid",
                # Only new members see the tour.
                "toured_at": None if entry["username"] == NEWCOMER else timezone.now(),
                "password": password,
            },
        )
        people[entry["username"]] = person
    for entry in data["projects"]:
        project = Project.objects.filter(slug=entry["slug"]).first()
        if project is None:
            project = projects.create_project(
                actor=None, name=entry["name"], slug=entry["slug"], description=entry["description"]
            )
            Project.objects.filter(pk=project.pk).update(time_zone=entry["time_zone"])
            adopt_preset(actor=None, project=project, preset=entry.get("preset", "c3"), **entry.get("options", {}))
            change_settings(actor=None, project=project, **entry["releases"])
            for dimension, values in entry.get("targets", {}).items():
                for value, wanted in values.items():
                    change_target(actor=None, project=project, dimension=dimension, value=value, wanted=wanted)
        for member in data["people"]:
            for membership in member["memberships"]:
                if membership["project"] == entry["slug"]:
                    for role in membership["roles"]:
                        members.grant_role(
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


def _import_candidates(administrator: User, project: Project, name: str, native_format: str) -> None:
    batch = start_import(
        actor=administrator, project=project, path=FOLDER / name, filename=name, native_format=native_format
    )
    jobs.run(batch.job_id)


def records_by_id(name: str) -> dict[str, dict[str, Any]]:
    """Return the records of a file of the demo's data by id."""
    return {row["id"]: row for row in _lines(FOLDER / name)}


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)
