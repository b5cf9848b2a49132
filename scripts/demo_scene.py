"""What the pictures in the docs show: a new demo with work that waits for the people in them, on its own servers."""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scripts.demo import HOST, READY_SECONDS, demo_variables
from scripts.environment import ROOT, Stop

if TYPE_CHECKING:
    from annotator.models import User
    from reviews.models import Slot

#: Dialogues of the three journeys: a Chinese one with four tasks, one in dispute, a case with a wrong validator.
CHINESE, DISPUTED, CONSTRAINED = "gaotie-chuxing-03", "rail-travel-02", "radio-01"


def make_demo(data: Path) -> dict[str, str]:
    """Create a demo in an empty folder, and the work that the pictures show.

    Returns the pages to open: dialogues by external id, and the items of Boris and Amina by name. This process uses
    that demo's database from then on.
    """
    variables = demo_variables(data, f"http://{HOST}")
    made = subprocess.run(
        [sys.executable, ROOT / "scripts" / "prepare_demo.py"], env=variables, cwd=ROOT, capture_output=True, text=True
    )
    if made.returncode:
        raise Stop(f"{made.stdout}{made.stderr}\nThe demo could not be prepared.")
    os.environ |= variables
    import django

    django.setup()
    from django.db import connections

    _chinese_dialogue()
    _dispute()
    _constrained_case()
    pages = _pages()
    connections.close_all()
    return pages


@contextmanager
def running(made: Path, data: Path) -> Iterator[str]:
    """Run a copy of a demo in ``data`` on a free port; yield its address."""
    shutil.copytree(made, data)
    command: list[str | Path] = [sys.executable, ROOT / "scripts" / "start.py", "demo", "--port", "0", "--data", data]
    server = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    watchdog = threading.Timer(READY_SECONDS + 60, server.terminate)
    watchdog.start()
    try:
        assert server.stdout is not None  # noqa: S101 - it is a pipe
        said = ""
        for line in server.stdout:
            said += line
            if found := re.search(r"Assay is running: (\S+)/", line):
                watchdog.cancel()
                yield found[1]
                break
        else:
            raise Stop(f"{said}\nThe demo did not start.")
    finally:
        watchdog.cancel()
        server.send_signal(signal.SIGINT)
        server.communicate()


# --- the work ---------------------------------------------------------------------------------------------------------


def _person(name: str) -> "User":
    from annotator.models import User

    return User.objects.get(username=name)


def _slot(dialogue: str, stage: str | None = None) -> "Slot":
    """Return the open slot of a dialogue with the lowest number."""
    from reviews.models import Slot, SlotState

    slots = Slot.objects.filter(dialogue__external_id=dialogue, state=SlotState.OPEN).order_by("index")
    return (slots.filter(stage=stage) if stage else slots).select_related("dialogue", "revision", "project")[0]


def _chinese_dialogue() -> None:
    """Import the candidates that are uploaded by hand, and let Chen claim the long Chinese one."""
    from annotator.models import Project
    from annotator.services.jobs import jobs
    from benchmark.demo.project import FOLDER, SLUG
    from benchmark.services.imports.requests import start_import
    from reviews.services.queue.claims import claim_slot

    batch = start_import(
        actor=_person("ingrid"),
        project=Project.objects.get(slug=SLUG),
        path=FOLDER / "fresh.jsonl",
        filename="fresh.jsonl",
        native_format="wild",
    )
    jobs.run(batch.job_id)
    # Claimed, because Chen's second self-checks come before this one in the queue.
    claim_slot(actor=_person("chen"), slot=_slot(CHINESE))


def _dispute() -> None:
    """Two cross-checks of a dialogue differ in three fields; the dispute waits for Yuki."""
    from benchmark.demo.project import records_by_id
    from benchmark.demo.reviewing import CROSS, EXPERT, document_of
    from reviews.services.assignments.changes import reassign

    other = records_by_id("disagreements.jsonl")[DISPUTED]
    kind = {"kind": "message_unnatural", "anchor": "", "note": ""}
    slot = _slot(DISPUTED, CROSS)
    owner = slot.dialogue.owner
    # Nobody cross-checks their own dialogue.
    first, second = [name for name in ("boris", "dilara", "amina") if owner is None or name != owner.username][:2]
    _review(first, slot, "approve")
    _review(
        second,
        _slot(DISPUTED, CROSS),
        "fix",
        document=document_of(other["record"]),
        named_errors=[kind],
        reason=other["reason"],
    )
    reassign(actor=_person("ingrid"), slot=_slot(DISPUTED, EXPERT), to=_person("yuki"))


def _constrained_case() -> None:
    """Two people approve the data of a case, so that its code waits for Lucia."""
    from benchmark.demo.constrained_cases import CODE, DATA
    from reviews.services.assignments.changes import reassign

    for name in ("boris", "dilara"):
        _review(name, _slot(CONSTRAINED, DATA), "approve")
    reassign(actor=_person("lucia"), slot=_slot(CONSTRAINED, CODE), to=_person("lucia"))


def _review(name: str, slot: "Slot", verdict: str, document: dict[str, Any] | None = None, **given: Any) -> None:
    from annotator.core.validators.trial import subjects_of
    from annotator.services.dialogues.trials import ensure_tried
    from reviews.services.queue.claims import claim_slot
    from reviews.services.submission.submit import submit_review
    from reviews.services.submission.waivers import waive_all

    person = _person(name)
    # Workers do this when a draft is saved.
    ensure_tried(subjects_of(slot.revision.document()))
    claim = claim_slot(actor=person, slot=slot)
    waive_all(actor=person, slot=slot, reason="Checked: correct in this dialogue.", document=document)
    submit_review(actor=person, slot=slot, token=claim.token, verdict=verdict, document=document, **given)


def _pages() -> dict[str, str]:
    from annotator.models import Dialogue
    from reviews.models import Slot
    from reviews.services.queue.claims import claim_slot

    slot = _slot("warehouse-stock-03")
    claim_slot(actor=_person("boris"), slot=slot)
    names = ("night-sky-01", "berth-01", "radio-01")
    pages = {one.external_id: one.get_absolute_url() for one in Dialogue.objects.filter(external_id__in=names)}
    claimed = Slot.objects.get(holder__username="amina", state="claimed")
    return pages | {"boris": f"/work/{slot.public_id}/", "amina": f"/work/{claimed.public_id}/"}
