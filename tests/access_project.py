"""One project that has something behind every address, and people of every kind who may or may not see it."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import transaction
from django.test import Client
from django.utils import timezone

from annotator.core.schema import canonical, content_hash
from annotator.core.text import Message
from annotator.models import (
    Dialogue,
    GuidelineChange,
    Job,
    JobState,
    Notice,
    Replay,
    Revision,
    Role,
    StoredSuggestion,
    User,
    WebhookDelivery,
)
from annotator.services.accounts.tokens import create_token
from annotator.services.custom_fields import set_fields
from annotator.services.members import create_invitation
from annotator.services.projects import publish_guideline
from annotator.services.saved_views import save_view
from annotator.services.webhooks.hooks import add_webhook
from benchmark.core.generation.purposes import Purpose
from benchmark.core.generation.texts.state import TextSetup
from benchmark.core.generation.texts.steps import begin as begin_texts
from benchmark.core.generation.texts.translating import texts_to_translate
from benchmark.models import (
    BaselineEntry,
    Endpoint,
    EntryStatistic,
    ErrataLink,
    ErratumReport,
    Generation,
    ImportBatch,
    Inference,
    ModelCall,
    Prediction,
    PredictionFile,
    Release,
    ReleaseItem,
    Run,
    Score,
    ScoreSet,
    SharedBoard,
    SimilarDialogue,
)
from benchmark.services.generation.requests import create_generation, start_generation
from benchmark.services.generation.templates import newest_templates
from benchmark.services.inference.options import Options
from reviews.models import (
    Claim,
    Cycle,
    Draw,
    Example,
    Feedback,
    GoldItem,
    ProtocolVersion,
    Review,
    Slot,
    StageRun,
    TrainingResult,
)
from reviews.services.assignments.plans import make_plan
from reviews.services.cycles.outdated import mark_outdated, read_scope
from reviews.services.feedback.comments import comment_on
from reviews.services.queue.claims import claim_next
from reviews.services.queue.pauses import pause
from reviews.services.submission.submit import submit_review
from tests.factories import (
    Team,
    adopt_c3,
    begin,
    changed,
    give_role,
    make_dialogue,
    make_document,
    make_team,
    make_user,
    open_slot,
)

#: Who visits. ``neighbour`` administers another project; ``deactivated`` was an annotator of this one; ``operator``
#: runs the installation, without a role in a project.
ROLES = (
    "anonymous",
    "deactivated",
    "outsider",
    "neighbour",
    "annotator",
    "colleague",
    "senior",
    "administrator",
    "operator",
)


@dataclass(frozen=True)
class AccessProject:
    """A project, its people, and the ids of what is in it; the same of the project next door."""

    team: Team
    people: dict[str, User | None]
    #: Role → the key of a session in which that person is signed in.
    sessions: dict[str, str]
    ids: dict[str, str]
    neighbour_slug: str

    @property
    def slug(self) -> str:
        return self.team.project.slug


@pytest.fixture(scope="module")
def module_access(django_db_setup: None, django_db_blocker: Any) -> Iterator[AccessProject]:
    """One project for all tests of a module: making it costs more than visiting it, and every visit is taken back."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield make_access_project()
        transaction.set_rollback(True)


@pytest.fixture
def access(module_access: AccessProject, db: None) -> AccessProject:
    store_files()
    return module_access


def make_access_project() -> AccessProject:
    """Everything behind every address. The annotator holds an item; the colleague holds nothing."""
    team = make_team("spine")
    neighbour_team = make_team("next-door", annotators=1)
    adopt_c3(team)
    annotator, colleague = team.annotators[:2]
    note = {"key": "note", "title": "Note", "type": "text", "scope": "task"}
    set_fields(actor=team.administrator, project=team.project, fields=[note], seen=0)
    done, held = begin(team.project, [make_dialogue(team.project, make_document(name)) for name in ("one", "two")])
    feedback = _feedback(team, done)
    for dialogue in (done, held):
        SimilarDialogue.objects.create(project=team.project, dialogue=dialogue, group=done, size=2)
    claim = claim_next(actor=annotator, project=team.project, stage="self_check_single")
    assert claim is not None
    assert claim.slot.dialogue_id == held.pk
    other = _second_revision(held, colleague)
    batch = _import(team)
    release = _release(team)
    comment = comment_on(actor=team.senior, dialogue=held, anchor="", text="Is this one request?")
    notice = Notice.objects.create(
        person=annotator, project=team.project, kind="comment", message=Message("Look at this."), target="/notices/"
    )
    invitation, secret = create_invitation(
        actor=team.administrator, project=team.project, roles=[Role.ANNOTATOR], note="for the new one"
    )
    token, _ = create_token(actor=annotator, name="nightly", expires_at=None)
    head = held.head
    assert head is not None
    paused, _ = pause(actor=team.administrator, project=team.project, stage="expert", reason="On holiday")
    free = open_slot(done)
    plan = make_plan(actor=team.administrator, project=team.project, action="prioritise", slots=[free.pk], priority=0)
    publish_guideline(actor=team.administrator, project=team.project, text="Read every step.", seen=0)
    ids = {
        "role": "annotator",
        "provider_id": "none",
        "pk": "1",
        "version": "1",
        "slug": team.project.slug,
        "field": "note",
        "pause": paused.public_id,
        "plan": plan.public_id,
        "view": save_view(
            actor=team.administrator, project=team.project, name="Errors", query="problems=errors", shared=True
        ).public_id,
        "free_slot": free.public_id,
        "dialogue": held.public_id,
        "toolset": head.toolset_revision.toolset.public_id,
        "generation": _generation(team, head).public_id,
        "generation_call": "1",
        "translation": _translation(team, held, head).public_id,
        "translation_text": "s1",
        "purpose": "question",
        "revision": head.public_id,
        "other_revision": other.public_id,
        "slot": claim.slot.public_id,
        "claim": claim.token,
        "person": colleague.public_id,
        "import": batch.public_id,
        "import_preview": _preview(team).public_id,
        "release": release.public_id,
        "invitation": invitation.public_id,
        "secret": secret,
        "token": token.public_id,
        "job": batch.job.public_id,
        "notice": notice.public_id,
        "gold": _gold(team).public_id,
        **_training(team, annotator),
        "comment": comment.public_id,
        "feedback": feedback.public_id,
        "task": "t1",
        "example": _example(team, done).public_id,
        "draw": _draw(team).public_id,
        "outdated": _outdated(team).public_id,
        "replay": _replay(held, annotator).public_id,
        "suggestion": _suggestion(held).public_id,
        "trial": _trial(held, annotator).public_id,
        **_webhook(team),
        **_scores(release, annotator),
        **_errata(release, done),
        "round": "cross_check-1",
        "uidb36": "1",
        "key": "none-none",
    }
    deactivated = make_user("gone", is_active=False)
    people: dict[str, User | None] = {
        "anonymous": None,
        "deactivated": give_role(team.project, deactivated, Role.ANNOTATOR),
        "outsider": team.outsider,
        "neighbour": neighbour_team.administrator,
        "annotator": annotator,
        "colleague": colleague,
        "senior": team.senior,
        "administrator": team.administrator,
        "operator": make_user("operator", is_staff=True),
    }
    sessions = {role: _sign_in(person) for role, person in people.items() if person is not None}
    return AccessProject(team, people, sessions, ids, neighbour_team.project.slug)


def _sign_in(person: User) -> str:
    client = Client()
    client.force_login(person)
    return client.cookies[settings.SESSION_COOKIE_NAME].value


def _feedback(team: Team, dialogue: Dialogue) -> Feedback:
    claim = claim_next(actor=team.annotator, project=team.project)
    assert claim is not None
    assert claim.slot.dialogue_id == dialogue.pk
    review = submit_review(actor=team.annotator, slot=claim.slot, token=claim.token, verdict="approve")
    # Release what the second self-check left open, so that the next claim is of another item.
    Claim.objects.filter(person=team.annotator).exclude(pk=claim.pk).delete()
    return Feedback.objects.create(
        dialogue=dialogue,
        person=team.annotator,
        review=review,
        kind="audit",
        message=Message("The answer left out the price."),
    )


def _example(team: Team, dialogue: Dialogue) -> Example:
    return Example.objects.create(
        project=team.project,
        dialogue=dialogue,
        revision=dialogue.head,
        comment="Every value has its source.",
        author=team.senior,
    )


def _draw(team: Team) -> Draw:
    return Draw.objects.create(
        project=team.project, stage="expert", number=1, fraction=0.1, seed="00", population_hash="00",
        population_size=0, sample_size=0, actor=team.administrator, carried_out_at=timezone.now(),
    )  # fmt: skip


def _outdated(team: Team) -> GuidelineChange:
    scope = read_scope(project=team.project, number=1, policies=[], error_types=[])
    return mark_outdated(actor=team.administrator, project=team.project, scope=scope, reason="Dates have a year.")


def _suggestion(dialogue: Dialogue) -> StoredSuggestion:
    return StoredSuggestion.objects.create(
        dialogue=dialogue, place="/tasks/t1/policy", kind="policy", value="chat", source="model"
    )


def _replay(dialogue: Dialogue, person: User) -> Replay:
    job = Job.objects.create(
        project=dialogue.project, requester=person, kind="replay", state=JobState.DONE, ended_at=timezone.now()
    )
    return Replay.objects.create(
        project=dialogue.project, dialogue=dialogue, requester=person, job=job, revision=dialogue.head, key="none"
    )


def _trial(dialogue: Dialogue, person: User) -> Job:
    return Job.objects.create(
        project=dialogue.project,
        requester=person,
        kind="validators",
        state=JobState.DONE,
        ended_at=timezone.now(),
        parameters={"dialogue": dialogue.public_id, "subjects": [], "texts": []},
    )


def _webhook(team: Team) -> dict[str, str]:
    webhook, _secret = add_webhook(
        actor=team.administrator, project=team.project, url="https://hooks.example.org/", events=["erratum.confirmed"]
    )
    delivery = WebhookDelivery.objects.create(
        webhook=webhook, event="erratum.confirmed", body="{}", state="delivered", status=204, tried_at=timezone.now()
    )
    return {"webhook": webhook.public_id, "delivery": delivery.public_id}


def _training(team: Team, person: User) -> dict[str, str]:
    """A training item, and the slot in which this person has submitted it."""
    item = _gold(team, training_place=1, published=False)
    run = item.stage_run
    slot = Slot.objects.create(
        stage_run=run,
        project=team.project,
        dialogue=item.dialogue,
        cycle=run.cycle,
        protocol=run.cycle.protocol,
        stage=run.stage,
        stage_kind="cross_check",
        state="done",
        position=1,
        is_gold=True,
        revision=run.entry_revision,
        holder=person,
    )
    review = Review.objects.create(
        slot=slot,
        stage_run=run,
        dialogue=item.dialogue,
        project=team.project,
        person=person,
        stage_kind="cross_check",
        verdict="approve",
        seen_revision=run.entry_revision,
        sealed=True,
        created_at=timezone.now(),
    )
    TrainingResult.objects.create(
        item=item,
        review=review,
        project=team.project,
        person=person,
        attempt=1,
        right=False,
        verdict_right=False,
        errors=1,
        found=0,
        false_changes=0,
    )
    return {"training": item.public_id, "training_slot": slot.public_id}


def _gold(team: Team, *, training_place: int | None = None, published: bool = True) -> GoldItem:
    source = make_dialogue(team.project)
    shown = make_dialogue(team.project, gold_role="gold", published=published)
    assert source.head is not None
    assert shown.head is not None
    cycle = Cycle.objects.create(
        dialogue=shown,
        project=team.project,
        protocol=ProtocolVersion.objects.get(project=team.project),
        number=1,
        entry_revision=shown.head,
    )
    run = StageRun.objects.create(
        cycle=cycle, project=team.project, stage="cross_check", blind=True, entry_revision=shown.head
    )
    return GoldItem.every.create(
        training_place=training_place,
        project=team.project,
        stage="cross_check",
        dialogue=shown,
        source=source,
        answer=source.head,
        stage_run=run,
        errors=1,
        created_by=team.administrator,
    )


def _second_revision(dialogue: Dialogue, author: User) -> Revision:
    head = dialogue.head
    assert head is not None
    text = canonical(changed(head.document()))
    return Revision.objects.create(
        dialogue=dialogue,
        parent=head,
        number=2,
        author=author,
        toolset_revision=head.toolset_revision,
        content=text,
        content_hash=content_hash(text),
    )


def _import(team: Team) -> ImportBatch:
    job = Job.objects.create(
        project=team.project,
        requester=team.administrator,
        kind="import",
        state=JobState.DONE,
        ended_at=timezone.now(),
        checkpoint={},
    )
    return ImportBatch.objects.create(
        project=team.project,
        job=job,
        requester=team.administrator,
        native_format="wild",
        filename="candidates.jsonl",
        file="imports/none",
    )


def _preview(team: Team) -> ImportBatch:
    found = {
        "format": "openai", "mapping": {}, "saved": False, "columns": [["id", "a"], ["messages", "[…]"]], "kept": [],
        "records": 1, "refused": 0, "problems": [], "warnings": [], "dialogues": [],
    }  # fmt: skip
    job = Job.objects.create(
        project=team.project, requester=team.administrator, kind="import_preview", state=JobState.DONE,
        ended_at=timezone.now(), result=found,
    )  # fmt: skip
    return ImportBatch.objects.create(
        project=team.project, job=job, requester=team.administrator, filename="unknown.jsonl", file="imports/none2",
        preview=True,
    )  # fmt: skip


def _generation(team: Team, head: Revision) -> Generation:
    """A generation of which nothing is made yet, and whose roles people play."""
    assert head.toolset_revision is not None
    setup = {"name": "trip-3", "policies": ["chat"], "relations": [["explicit"]]}
    made = start_generation(
        actor=team.administrator, project=team.project, toolset=head.toolset_revision, setup=setup, players={},
        work=False,
    )  # fmt: skip
    template = newest_templates(team.project)["first_task"]
    ModelCall.objects.create(
        generation=made, number=1, purpose="first_task", template=template, model="m", prompt="Go."
    )
    return made


def _translation(team: Team, source: Dialogue, head: Revision) -> Generation:
    """A translation whose texts people write."""
    texts = texts_to_translate(head.document(), head.toolset_revision.tools())
    setup = TextSetup("one-zh", Purpose.TRANSLATION, "en", "zh", texts)
    return create_generation(
        actor=team.administrator, project=team.project, name=setup.name, players={}, work=False, kind="translation",
        source=source, toolset_revision=head.toolset_revision, language="zh", setup=setup.to_json(),
        state=begin_texts(setup).to_json(),
    )  # fmt: skip


def _scores(release: Release, person: User) -> dict[str, str]:
    """A run of a model over the release, with one wrong entry."""
    job = Job.objects.create(
        project=release.project, requester=release.requester, kind="score_predictions", state=JobState.DONE,
        ended_at=timezone.now(),
    )  # fmt: skip
    file = PredictionFile.objects.create(
        release=release, job=job, requester=release.requester, filename="answers.jsonl", family="c3"
    )
    run = Run.objects.create(
        release=release, release_sha256=release.sha256, file=file, model="m", family="c3", language="en", complete=True
    )
    said = Prediction.objects.create(run=run, entry="one#0", content=[])
    score_set = ScoreSet.objects.create(run=run, version=1, entries=1, summary={}, complete=True)
    detail = {
        "label": "error", "action_label": "error", "ours": {"label": "error", "matched": 0, "fewest_rounds": 2},
        "strict": {"label": "error"}, "nodes": 2, "error_type": "early stop", "task": 0,
    }  # fmt: skip
    score = Score.objects.create(
        score_set=score_set, prediction=said, entry="one#0", right=False, error="early stop", detail=detail
    )
    entry = EntryStatistic.objects.create(release=release, family="c3", language="en", entry="one#0", runs=1, right=0)
    endpoint = Endpoint.objects.create(project=release.project, name="Local", base_url="https://models.example/v1")
    asking = Job.objects.create(
        project=release.project, requester=release.requester, kind="inference", state=JobState.DONE,
        ended_at=timezone.now(),
    )  # fmt: skip
    inference = Inference.objects.create(
        release=release, release_sha256=release.sha256, endpoint=endpoint, job=asking, model="m", name="m", family="c3",
        settings=Options().as_json(),
    )  # fmt: skip
    return {
        "shared": SharedBoard.objects.create(release=release).token,
        "endpoint": endpoint.public_id, "inference": inference.public_id, "baseline": _baseline(release, person),
        "predictions": file.public_id, "run": run.public_id, "score": str(score.pk), "entry": str(entry.pk),
        "form": "csv",
    }  # fmt: skip


def _errata(release: Release, dialogue: Dialogue) -> dict[str, str]:
    """A public link, and an open report of the release's only item."""
    item = ReleaseItem.objects.create(release=release, dialogue=dialogue, revision=dialogue.head)
    report = ErratumReport.objects.create(release=release, item=item, text="The city is wrong.")
    return {
        "shared_errata": ErrataLink.objects.create(release=release).token, "erratum_report": report.public_id,
    }  # fmt: skip


def _baseline(release: Release, person: User) -> str:
    """A baseline whose only entry is to be answered."""
    job = Job.objects.create(
        project=release.project, requester=release.requester, kind="baseline", state=JobState.DONE,
        ended_at=timezone.now(),
    )  # fmt: skip
    found = Inference.objects.create(
        release=release, release_sha256=release.sha256, person=person, job=job, model="person", name="person",
        family="c3", settings=Options().as_json(), total=1,
    )  # fmt: skip
    ask = {"messages": [{"role": "user", "content": "Hello"}], "tools": []}
    BaselineEntry.objects.create(inference=found, unit="one#0", place=1, ask=ask)
    return found.public_id


_ARCHIVE, _CONTENT = "releases/matrix.zip", b"an archive"


def store_files() -> None:
    """The files behind the project's rows; every test ends with the files gone."""
    path = Path(settings.MEDIA_ROOT) / _ARCHIVE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_CONTENT)


def _release(team: Team) -> Release:
    job = Job.objects.create(
        project=team.project, requester=team.administrator, kind="release", state=JobState.DONE, ended_at=timezone.now()
    )
    return Release.objects.create(
        project=team.project,
        job=job,
        version="1.0",
        native_format="wild",
        state="frozen",
        canary="assay canary",
        requester=team.administrator,
        archive=_ARCHIVE,
        archive_bytes=len(_CONTENT),
        sha256=hashlib.sha256(_CONTENT).hexdigest(),
        frozen_at=timezone.now(),
    )
