"""Publish a release with answers to custom fields of every type, from a dialogue of the demo: for ``make loaders``.

It runs in Assay's own environment, on the database of the check, after ``load_demo``.
"""

import io
import os
import sys
from pathlib import Path
from typing import Any

import django

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotator.config.settings")
django.setup()

from annotator.core.roles import Role  # noqa: E402
from annotator.core.schema.exact_json import dumps  # noqa: E402
from annotator.models import Project, User  # noqa: E402
from annotator.services.custom_fields import set_fields  # noqa: E402
from annotator.services.jobs import jobs  # noqa: E402
from annotator.services.members import grant_role  # noqa: E402
from benchmark.models import ReleaseItem  # noqa: E402
from benchmark.services.imports.requests import start_import  # noqa: E402
from benchmark.services.releases.requests import start_release  # noqa: E402
from reviews.core.protocols import AuthorRule, Eligible, Protocol, Stage, StageKind  # noqa: E402
from reviews.core.protocols.presets import EXPERT  # noqa: E402
from reviews.core.protocols.taxonomy import TAXONOMY  # noqa: E402
from reviews.models import Slot  # noqa: E402
from reviews.services.protocols.versions import adopt_protocol  # noqa: E402
from reviews.services.queue.claims import claim_slot  # noqa: E402
from reviews.services.submission.submit import submit_review  # noqa: E402

OPTIONS = [{"value": value, "title": value.title()} for value in ("travel", "weather")]
FIELDS = [
    {"key": "natural", "title": "How natural is it?", "type": "scale", "scope": "dialogue", "low": 1, "high": 5},
    {"key": "note", "title": "Note", "type": "text", "scope": "dialogue"},
    {"key": "topics", "title": "Topics", "type": "multi", "scope": "task", "options": OPTIONS},
    {"key": "words", "title": "Which words?", "type": "span", "scope": "task", "of": "user_message"},
    {"key": "main", "title": "Main topic", "type": "choice", "scope": "answer", "options": OPTIONS},
]


def main() -> None:
    """Import, review and release two copies of a dialogue; only the first has answers."""
    source = ReleaseItem.objects.filter(dialogue__kind="multi_turn").order_by("pk").first()
    if source is None:
        raise SystemExit("The demo has no released dialogue.")
    project = Project.objects.create(slug="answers", name="Answers")
    people = [User.objects.create_user(f"{role}-of-answers") for role in (Role.ADMINISTRATOR, Role.SENIOR_REVIEWER)]
    for person, role in zip(people, (Role.ADMINISTRATOR, Role.SENIOR_REVIEWER), strict=True):
        grant_role(actor=None, project=project, user=person, role=role)
    administrator, reviewer = people
    stage = Stage(
        key="check",
        title="Check",
        kind=StageKind.EXPERT,
        eligible=Eligible(roles=(Role.SENIOR_REVIEWER,), author=AuthorRule.NOT_AUTHOR),
        outcomes=EXPERT,
    )
    adopt_protocol(
        actor=None, project=project, protocol=Protocol(name="One stage", preset="", stages=(stage,), taxonomy=TAXONOMY)
    )
    set_fields(actor=administrator, project=project, fields=FIELDS, seen=0)
    document, tools = source.revision.document(), source.revision.toolset_revision.tools()
    records = [{"assay": 1, "id": "bare", "language": "en", "document": document, "tools": tools}]
    document = answered(source.revision.document())
    records.append({"assay": 1, "id": "answered", "language": "en", "document": document, "tools": tools})
    upload = io.BytesIO(b"\n".join(map(dumps, records)))
    batch = start_import(
        actor=administrator, project=project, upload=upload, filename="a.jsonl", native_format="neutral",
        wake_worker=False,
    )  # fmt: skip
    jobs.run(batch.job_id)
    for slot in Slot.objects.filter(project=project):
        claim = claim_slot(actor=reviewer, slot=slot)
        submit_review(actor=reviewer, slot=slot, token=claim.token, verdict="approve")
    release = start_release(
        actor=administrator, project=project, version="0.1", native_format="neutral", wake_worker=False
    )
    jobs.run(release.job_id)


def answered(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document with an answer to each field."""
    document["labels"] = {"natural": 4, "note": "Two lines,\n“quoted” and ünusual."}
    task = document["tasks"][0]
    text = task["user_message"]
    task["labels"] = {"topics": ["travel", "weather"], "words": [{"start": 0, "end": 2, "text": text[:2]}]}
    task["steps"][-1]["labels"] = {"main": "weather"}
    return document


main()
