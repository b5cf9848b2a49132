"""Imports, reviews and releases one dialogue with a generated client.

``scripts/check_clients.py`` runs it in the environment of the generator, which has nothing of Assay:

    python follow_the_work.py URL SLUG ADMINISTRATOR_TOKEN REVIEWER_TOKEN
"""

import io
import json
import sys
import time
import zipfile
from collections.abc import Callable
from typing import Any

from assay_client import AuthenticatedClient
from assay_client.api.projects import (
    dialogues_list,
    imports_read,
    imports_start,
    releases_archive,
    releases_read,
    releases_start,
    work_claim,
)
from assay_client.api.work import work_submit
from assay_client.models import (
    ClaimInputRequest,
    DocumentAnswer,
    DocumentMultiTurn,
    ImportInputRequest,
    ReadFormatEnum,
    ReleaseInputRequest,
    SubmissionRequest,
    VerdictEnum,
    WrittenFormatEnum,
)
from assay_client.types import File

#: Seconds that a job may take on a slow machine.
PATIENCE = 90
RECORD = {
    "id": "one",
    "tools": [
        {"type": "function", "function": {"name": "get_time", "parameters": {"type": "object", "properties": {}}}},
    ],
    "document": {
        "kind": "multi_turn",
        "language": "en",
        "tasks": [
            {
                "id": "t1", "user_message": "Hello!", "policy": "chat", "information": "explicit",
                "steps": [
                    {"id": "s1", "type": "answer", "text": "Helo!", "answer_type": "chat", "depends_on": []},
                ],
            },
        ],
    },
}  # fmt: skip


def main(url: str, slug: str, administrator: str, reviewer: str) -> None:
    """Do the work. Raises AssertionError, with the answer, where something is not as it should be."""
    boss = AuthenticatedClient(base_url=url, token=administrator)
    person = AuthenticatedClient(base_url=url, token=reviewer)
    content = json.dumps(RECORD).encode()
    body = ImportInputRequest(
        file=File(io.BytesIO(content), "one.jsonl", "application/jsonl"), format_=ReadFormatEnum.NEUTRAL
    )
    denied = imports_start.sync_detailed(slug, client=person, body=body)
    assert denied.status_code == 403, denied
    assert "“import”" in denied.parsed.sentence, denied.parsed
    body.file.payload.seek(0)
    begun = good(imports_start.sync_detailed(slug, client=boss, body=body))
    done = ended(lambda: good(imports_read.sync_detailed(slug, begun.public_id, client=boss)))
    assert (done.created, done.rejected) == (1, 0), done

    claim = good(work_claim.sync_detailed(slug, client=person, body=ClaimInputRequest()))
    document = claim.document
    assert isinstance(document, DocumentMultiTurn), document
    (step,) = document.tasks[0].steps
    assert isinstance(step, DocumentAnswer), step
    step.text = "Hello, too!"
    review = SubmissionRequest(
        token=claim.token, verdict=VerdictEnum.FIX, document=document, reason="A letter was missing."
    )
    first, again = (good(work_submit.sync_detailed(claim.slot, client=person, body=review)) for _ in range(2))
    assert first == again, again
    review.reason = "Another reason."
    refused = work_submit.sync_detailed(claim.slot, client=person, body=review)
    assert refused.status_code == 409, refused
    (row,) = good(dialogues_list.sync_detailed(slug, client=person)).results
    assert row.status == "verified", row

    wanted = ReleaseInputRequest(version="1.0", format_=WrittenFormatEnum.NEUTRAL)
    frozen = good(releases_start.sync_detailed(slug, client=boss, body=wanted))
    frozen = ended(lambda: good(releases_read.sync_detailed(slug, frozen.public_id, client=boss)))
    assert frozen.item_count == 1, frozen
    archive = releases_archive.sync_detailed(slug, frozen.public_id, client=person)
    assert archive.status_code == 200, archive
    with zipfile.ZipFile(io.BytesIO(archive.content)) as files:
        assert any(b"Hello, too!" in files.read(name) for name in files.namelist())
    print("imported, claimed, submitted, released and downloaded 1 dialogue")


def good(answer: Any) -> Any:
    """Return what an answer has. Raises AssertionError for a refusal."""
    assert answer.status_code < 300, (answer.status_code, answer.content[:1000])
    return answer.parsed


def ended(read: Callable[[], Any]) -> Any:
    """Poll until the job of a row has ended, and return the row. Raises AssertionError if it failed or takes long."""
    end = time.monotonic() + PATIENCE
    while (row := read()).job.state in ("queued", "running"):
        assert time.monotonic() < end, row
        time.sleep(0.3)
    assert row.job.state == "done", row
    return row


if __name__ == "__main__":
    main(*sys.argv[1:])
