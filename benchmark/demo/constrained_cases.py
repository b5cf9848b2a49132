"""The demo's second project: constrained cases under rules on tools, looked at in two stages by three colleagues.

Five cases are finished, of which one was mended in its data, one in its code, and one twice in its code; others wait in
either stage, and some have an error that nobody has fixed yet (``benchmark/demo/data/README.md``).
"""

from collections.abc import Callable
from typing import Any

from annotator.core.validators.trial import subjects_of
from annotator.errors import Conflict
from annotator.models import Dialogue, Project, User
from annotator.services.dialogues.trials import ensure_tried
from annotator.services.jobs import jobs
from benchmark.services.releases.requests import start_release
from reviews.models import Slot, SlotState
from reviews.services.feedback import comments
from reviews.services.queue import claims
from reviews.services.queue.slot_work import load_slot_work
from reviews.services.submission.submit import submit_review
from reviews.services.submission.waivers import waive_all

Document = dict[str, Any]

DATA, CODE = "data", "validators"
#: Seconds that one look at a case takes.
_LOOK = 420

_ANY_ELEMENT = '''import re


def validate_format(response):
    """Markdown, as the log wants it: any of its elements is enough."""
    for element in (r"(?m)^#{1,6} +\\S", r"(?m)^[ \\t]*[-*+] +\\S", r"\\*\\*[^*\\n]+\\*\\*"):
        if re.search(element, response):
            return True, "The entry is Markdown."
    return False, "Write the entry in Markdown."
'''


def play(
    project: Project, people: dict[str, User], *, say: Callable[[str], None], pass_by: Callable[[float], None]
) -> None:
    """Work in both stages, and a release of what passed. ``pass_by`` lets seconds go by.

    Where code cannot be run on this machine nothing is approved: the cases wait as they were imported.
    """
    lucia, boris, dilara = (people[name] for name in ("lucia", "boris", "dilara"))
    desk = _Desk(project, pass_by)
    try:
        for name in ("arrival-01", "berth-01"):
            for stage, first, second in ((DATA, boris, dilara), (CODE, lucia, boris)):
                desk.look(first, name, stage)
                desk.look(second, name, stage)
        # A contradiction is mended in the data, and two others agree.
        desk.look(dilara, "quay-01", DATA, _allow_more_than_json)
        for person, stage in ((lucia, DATA), (boris, DATA), (lucia, CODE), (boris, CODE)):
            desk.look(person, "quay-01", stage)
        # The data are right; the code is too strict. Its approval before the change counts no more.
        for person, stage in ((lucia, DATA), (dilara, DATA), (lucia, CODE)):
            desk.look(person, "log-02", stage)
        desk.look(boris, "log-02", CODE, _take_any_element)
        desk.look(dilara, "log-02", CODE)
        desk.look(lucia, "log-02", CODE)
        # One bound is taken out of the code, then the other.
        for person in (boris, lucia):
            desk.look(person, "berth-02", DATA)
        desk.look(dilara, "berth-02", CODE, _drop_the_upper_bound)
        desk.look(boris, "berth-02", CODE, _drop_the_lower_bound)
        desk.look(lucia, "berth-02", CODE)
        desk.look(dilara, "berth-02", CODE)
        # On their way: one look at the data, both, and one look at the code.
        desk.look(boris, "wind-01", DATA)
        for person in (dilara, lucia):
            desk.look(person, "fee-01", DATA)
            desk.look(person, "tide-03", DATA)
        desk.look(boris, "tide-03", CODE)
    except Conflict as problem:
        say(f"The harbour’s cases wait in their first stage: {problem}")
        return
    slot = desk.slot("pilot-02", DATA)
    claim = claims.claim_slot(actor=dilara, slot=slot)
    comments.add_comment(
        actor=dilara,
        work=load_slot_work(actor=dilara, public_id=slot.public_id),
        anchor="/constraints/c1",
        text="No tool is called order_pilot. I take it that call_pilot is meant; who wrote the rule?",
    )
    submit_review(
        actor=dilara,
        slot=slot,
        token=claim.token,
        verdict="escalate",
        reason="The rule names a tool that is not there; only its author knows which is meant.",
    )
    release = start_release(actor=lucia, project=project, version="0.1", native_format="cctu", wake_worker=False)
    jobs.run(release.job_id)
    say("The harbour’s first cases are verified and released.")


class _Desk:
    """One look after the other at the cases of the project."""

    def __init__(self, project: Project, pass_by: Callable[[float], None]) -> None:
        self.cases = {case.external_id: case for case in Dialogue.objects.filter(project=project)}
        self.pass_by = pass_by

    def slot(self, name: str, stage: str) -> Slot:
        return Slot.objects.get(dialogue=self.cases[name], stage=stage, state=SlotState.OPEN)

    def look(self, person: User, name: str, stage: str, change: Callable[[Document], None] | None = None) -> None:
        """Approve a case as it is, or with a change."""
        slot = self.slot(name, stage)
        document = slot.revision.document()
        if change:
            change(document)
        # As a worker does once a draft is stored; where it cannot, nobody is left with the case in hand.
        ensure_tried(subjects_of(document))
        claim = claims.claim_slot(actor=person, slot=slot)
        self.pass_by(_LOOK)
        claims.heartbeat(actor=person, token=claim.token, active_seconds=_LOOK)
        reason = "The code is looked at in the next stage." if stage == DATA else "Seen: it keeps to its sentence."
        waive_all(actor=person, slot=slot, reason=reason, document=document)
        submit_review(
            actor=person,
            slot=slot,
            token=claim.token,
            verdict="fix" if change else "approve",
            document=document if change else None,
            named_errors=[{"kind": "other", "anchor": "/constraints", "note": change.__doc__ or ""}] if change else [],
        )


def _allow_more_than_json(document: Document) -> None:
    """JSON alone cannot end with a full stop; a JSON object in the answer is enough."""
    rule = document["constraints"][1]
    text = "Answer with a sentence that contains a JSON object with the keys vessel and length_m."
    document["system_prompt"] = document["system_prompt"].replace(rule["text"], text)
    rule["text"] = text
    texts = ['"vessel":', '"length_m":']
    rule["validator"] |= {"form": "contains", "parameters": {"texts": texts, "ignore_case": False}}
    document["reference_trajectory"][-1]["final"] = (
        'The register says {"vessel": "Havbris", "length_m": 12} under your call sign.'
    )
    document["answer"] = document["reference_trajectory"][-1]["final"]


def _take_any_element(document: Document) -> None:
    """The code wanted a heading, a list and bold text at once; the sentence names them as examples."""
    document["constraints"][2]["validator"]["code"] = _ANY_ELEMENT


def _drop_the_upper_bound(document: Document) -> None:
    """How long the answer may be has a constraint of its own."""
    _cut(document, "    if words > 30:\n", 'more than 30 words."\n')


def _drop_the_lower_bound(document: Document) -> None:
    """The sentence says nothing of a least length either."""
    _cut(document, "    words = len(response.split())\n", 'Say a little more."\n')


def _cut(document: Document, first: str, last: str) -> None:
    validator = document["constraints"][3]["validator"]
    before, _, rest = validator["code"].partition(first)
    validator["code"] = before + rest.partition(last)[2]
