"""The demo's second project: constrained cases, which three people review in two stages.

Five cases are verified: one of them was fixed in its data, one in its code, and one twice in its code. Others wait in
one of the stages; some have an error that is still there (see ``benchmark/demo/data/README.md``). One more case
is made from the query of a verified one (``sampled_case``).
"""

from collections.abc import Callable
from typing import Any

from annotator.core.validators.trial import subjects_of
from annotator.errors import Conflict
from annotator.models import Dialogue, Project, User
from annotator.services.dialogues.trials import ensure_tried
from annotator.services.jobs import jobs
from benchmark.demo.sampled_case import make_sampled_case
from benchmark.services.releases.requests import start_release
from reviews.models import Slot, SlotState
from reviews.services.feedback import comments
from reviews.services.queue import claims
from reviews.services.queue.slot_work import load_slot_work
from reviews.services.submission.submit import submit_review
from reviews.services.submission.waivers import waive_all

Document = dict[str, Any]

DATA, CODE = "data", "validators"
#: Seconds that the review of a case takes.
_REVIEW_SECONDS = 420

_ANY_ELEMENT = '''import re


def validate_format(response):
    """Accept an answer with at least one Markdown element."""
    for element in (r"(?m)^#{1,6} +\\S", r"(?m)^[ \\t]*[-*+] +\\S", r"\\*\\*[^*\\n]+\\*\\*"):
        if re.search(element, response):
            return True, "The entry is Markdown."
    return False, "Write the entry in Markdown."
'''


def play(
    project: Project, people: dict[str, User], *, log: Callable[[str], None], advance: Callable[[float], None]
) -> None:
    """Review cases in both stages and release the verified ones. ``advance`` moves the clock by seconds.

    If this machine cannot run code, the cases stay as they were imported.
    """
    lucia, boris, dilara = (people[name] for name in ("lucia", "boris", "dilara"))
    cases = _CaseReviews(project, advance)
    try:
        for name in ("arrival-01", "berth-01"):
            for stage, first, second in ((DATA, boris, dilara), (CODE, lucia, boris)):
                cases.review(first, name, stage)
                cases.review(second, name, stage)
        # One person fixes a contradiction in the data, and two others approve.
        cases.review(dilara, "quay-01", DATA, _allow_more_than_json)
        for person, stage in ((lucia, DATA), (boris, DATA), (lucia, CODE), (boris, CODE)):
            cases.review(person, "quay-01", stage)
        # The data is right, but the code is too strict. The fix invalidates the approval before it.
        for person, stage in ((lucia, DATA), (dilara, DATA), (lucia, CODE)):
            cases.review(person, "log-02", stage)
        cases.review(boris, "log-02", CODE, _take_any_element)
        cases.review(dilara, "log-02", CODE)
        cases.review(lucia, "log-02", CODE)
        # One fix removes one limit from the code, the next fix the other.
        for person in (boris, lucia):
            cases.review(person, "berth-02", DATA)
        cases.review(dilara, "berth-02", CODE, _drop_the_upper_bound)
        cases.review(boris, "berth-02", CODE, _drop_the_lower_bound)
        cases.review(lucia, "berth-02", CODE)
        cases.review(dilara, "berth-02", CODE)
        # In progress: one review of the data, two reviews of the data, one review of the code.
        cases.review(boris, "wind-01", DATA)
        for person in (dilara, lucia):
            cases.review(person, "fee-01", DATA)
            cases.review(person, "tide-03", DATA)
        cases.review(boris, "tide-03", CODE)
    except Conflict as problem:
        log(f"The cases of Harbour radio stay in their first stage: {problem}")
        return
    slot = cases.slot("pilot-02", DATA)
    claim = claims.claim_slot(actor=dilara, slot=slot)
    comments.add_comment(
        actor=dilara,
        work=load_slot_work(actor=dilara, public_id=slot.public_id),
        anchor="/constraints/c1",
        text="There is no tool order_pilot. Does this mean call_pilot? Who wrote the rule?",
    )
    submit_review(
        actor=dilara,
        slot=slot,
        token=claim.token,
        verdict="escalate",
        reason="The rule names a tool that doesn’t exist. Only its author knows which one is meant.",
    )
    release = start_release(actor=lucia, project=project, version="0.1", native_format="cctu", wake_worker=False)
    jobs.run(release.job_id)
    make_sampled_case(project, lucia)
    log("Reviewed the cases of Harbour radio and published a release.")


class _CaseReviews:
    """Reviews cases of a project one after another."""

    def __init__(self, project: Project, advance: Callable[[float], None]) -> None:
        self.cases = {case.external_id: case for case in Dialogue.objects.filter(project=project)}
        self.advance = advance

    def slot(self, name: str, stage: str) -> Slot:
        return Slot.objects.get(dialogue=self.cases[name], stage=stage, state=SlotState.OPEN)

    def review(self, person: User, name: str, stage: str, change: Callable[[Document], None] | None = None) -> None:
        """Approve a case, or fix it with ``change``. The docstring of ``change`` becomes the note of the error."""
        slot = self.slot(name, stage)
        document = slot.revision.document()
        if change:
            change(document)
        # Workers do this when a draft is saved. Run it before the claim, so that no claim remains if it fails.
        ensure_tried(subjects_of(document))
        claim = claims.claim_slot(actor=person, slot=slot)
        self.advance(_REVIEW_SECONDS)
        claims.heartbeat(actor=person, token=claim.token, active_seconds=_REVIEW_SECONDS)
        reason = "The next stage reviews the code." if stage == DATA else "Checked: the code does what the text says."
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
    """JSON can't end with a full stop, so a JSON object inside the answer is enough."""
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
    """The code required a heading, a list and bold text, but the text gives them only as examples."""
    document["constraints"][2]["validator"]["code"] = _ANY_ELEMENT


def _drop_the_upper_bound(document: Document) -> None:
    """Another constraint already limits the length of the answer."""
    _cut(document, "    if words > 30:\n", 'more than 30 words."\n')


def _drop_the_lower_bound(document: Document) -> None:
    """The text doesn't mention a minimum length."""
    _cut(document, "    words = len(response.split())\n", 'Say a little more."\n')


def _cut(document: Document, first: str, last: str) -> None:
    validator = document["constraints"][3]["validator"]
    before, _, rest = validator["code"].partition(first)
    validator["code"] = before + rest.partition(last)[2]
