"""Review work for programs: counts, claim, submit. Uses the same services as the pages."""

from collections.abc import Mapping
from itertools import chain
from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.inputs import Input, read_fields
from annotator.api.pagination import KeysetPagination, answer_page
from annotator.api.rendering import stored_json, stored_tools
from annotator.api.serializers import ErrorSerializer
from annotator.api.views import NOT_FOUND, actor, requested_dialogue
from annotator.core.scopes import Scope
from annotator.errors import Invalid
from annotator.models import User
from annotator.services.access.blindness import is_blind
from annotator.services.access.permissions import load_project, roles_in
from annotator.services.dialogues.changes_since import parts_changed_since
from annotator.services.dialogues.suggestion_decisions import suggested_for
from annotator.services.maintenance import works_in_maintenance
from reviews.api import serializers as shapes
from reviews.core.protocols import Stage, offered_verdicts
from reviews.core.protocols.questions import WHOLE
from reviews.models import Claim, ClaimState, Review
from reviews.services.queue import claims
from reviews.services.queue.claim_rows import stage_of
from reviews.services.queue.progress import read_progress
from reviews.services.queue.slot_work import load_claim, load_claimed_item, load_slot_work
from reviews.services.submission import submit
from reviews.services.submission.take_back import take_back
from reviews.services.submission.validation import open_draft_of, waive_found
from reviews.services.submission.waivers import unwaive

DENIED = OpenApiResponse(ErrorSerializer, "Your role does not allow this.")
CONFLICT = OpenApiResponse(ErrorSerializer, "The item has changed: submitted, reassigned or edited.")
INVALID = OpenApiResponse(ErrorSerializer, "The request is invalid; the message gives the reason.")
MALFORMED = OpenApiResponse(ErrorSerializer, "Fields are missing or invalid; see details.")
REFUSALS = {400: MALFORMED, 403: DENIED, 404: NOT_FOUND, 409: CONFLICT, 422: INVALID}


class ProjectStatus(APIView):
    """Count the items in each status and stage, and how often independent reviewers disagreed."""

    @extend_schema(responses={200: shapes.ProjectStatusSerializer, 404: NOT_FOUND}, operation_id="projects_status")
    def get(self, request: Request, slug: str) -> Response:
        who = actor(request)
        project = load_project(actor=who, slug=slug)
        progress = read_progress(project=project, roles=roles_in(project, who), viewer=who)
        return Response(shapes.ProjectStatusSerializer(progress).data)


class ClaimNext(APIView):
    """Claim your next item, in one stage or the most urgent of all."""

    scope = Scope.ANNOTATE

    @extend_schema(
        request=shapes.ClaimInputSerializer,
        responses={
            201: shapes.ClaimSerializer,
            204: OpenApiResponse(description="No item for you."),
            **REFUSALS,
        },
        operation_id="work_claim",
    )
    def post(self, request: Request, slug: str) -> Response:
        project = load_project(actor=actor(request), slug=slug)
        wanted = read_fields(shapes.ClaimInputSerializer, request)
        claim = claims.claim_next(actor=actor(request), project=project, stage=wanted.get("stage"))
        if claim is None:
            return Response(status=status.HTTP_204_NO_CONTENT)
        return Response(claimed_answer(claim), status=status.HTTP_201_CREATED)


class Submit(APIView):
    """Submit your review of a claimed item, with the whole dialogue if you changed it.

    The same body again, after a lost answer for example, returns the first answer. Any other body is refused (409).
    """

    scope = Scope.ANNOTATE

    @extend_schema(
        request=shapes.SubmissionSerializer,
        responses={201: shapes.SubmittedSerializer, **REFUSALS},
        operation_id="work_submit",
    )
    def post(self, request: Request, slot: str) -> Response:
        sent, claim = _read_for_claim(shapes.SubmissionSerializer, request, slot)
        review = submit.submit_review(actor=actor(request), **submission_of(actor(request), claim, sent))
        return Response(submitted_answer(review), status=status.HTTP_201_CREATED)


@works_in_maintenance
class Heartbeat(APIView):
    """Keep a claim alive."""

    scope = Scope.ANNOTATE

    @extend_schema(
        request=shapes.HeartbeatInputSerializer,
        responses={200: shapes.HeartbeatSerializer, **REFUSALS},
        operation_id="work_heartbeat",
    )
    def post(self, request: Request, slot: str) -> Response:
        sent, _ = _read_for_claim(shapes.HeartbeatInputSerializer, request, slot)
        held = claims.heartbeat(actor=actor(request), token=sent["token"], active_seconds=sent["active_seconds"])
        return Response({"expires_at": held.expires_at})


class Waive(APIView):
    """Waive a warning that blocks your submission of a claimed item."""

    scope = Scope.ANNOTATE

    @extend_schema(
        request=shapes.WaiverInputSerializer,
        responses={
            204: OpenApiResponse(description="Waived. Repeating the request changes nothing."),
            **REFUSALS,
        },
        operation_id="work_waive",
    )
    def post(self, request: Request, slot: str) -> Response:
        sent, _ = _read_for_claim(shapes.WaiverInputSerializer, request, slot)
        work = load_slot_work(actor=actor(request), public_id=slot)
        key = (sent["check"], sent["anchor"], sent["value_hash"])
        waive_found(actor=actor(request), work=work, key=key, reason=sent["reason"], document=sent.get("document"))
        return Response(status=status.HTTP_204_NO_CONTENT)


class Unwaive(APIView):
    """Take back the waiver of a warning of a claimed item, so that the warning counts again."""

    scope = Scope.ANNOTATE

    @extend_schema(
        request=shapes.FindingKeySerializer,
        responses={
            204: OpenApiResponse(description="Taken back. Repeating the request changes nothing."),
            **REFUSALS,
        },
        operation_id="work_unwaive",
    )
    def post(self, request: Request, slot: str) -> Response:
        sent, _ = _read_for_claim(shapes.FindingKeySerializer, request, slot)
        work = load_slot_work(actor=actor(request), public_id=slot)
        key = {name: sent[name] for name in ("check", "anchor", "value_hash")}
        unwaive(actor=actor(request), work=work, **key)
        return Response(status=status.HTTP_204_NO_CONTENT)


class Release(APIView):
    """Release an item; it keeps its place in the queue."""

    scope = Scope.ANNOTATE

    @extend_schema(
        request=shapes.TokenSerializer,
        responses={204: OpenApiResponse(description="Released."), **REFUSALS},
        operation_id="work_release",
    )
    def post(self, request: Request, slot: str) -> Response:
        sent, _ = _read_for_claim(shapes.TokenSerializer, request, slot)
        claims.release(actor=actor(request), token=sent["token"])
        return Response(status=status.HTTP_204_NO_CONTENT)


class Skip(APIView):
    """Skip an item; it moves to the end of its queue."""

    scope = Scope.ANNOTATE

    @extend_schema(
        request=shapes.TokenSerializer,
        responses={204: OpenApiResponse(description="Skipped."), **REFUSALS},
        operation_id="work_skip",
    )
    def post(self, request: Request, slot: str) -> Response:
        sent, _ = _read_for_claim(shapes.TokenSerializer, request, slot)
        claims.skip(actor=actor(request), token=sent["token"])
        return Response(status=status.HTTP_204_NO_CONTENT)


class TakeBack(APIView):
    """Take back your submission, or claim an item again that you have just skipped or released.

    A review can be taken back for a minute, while its stage is open. The claim is live again with the same token, and
    your draft is as it was. Items that you have claimed since and not edited here go back to the queue.
    """

    scope = Scope.ANNOTATE

    @extend_schema(
        request=shapes.TokenSerializer,
        responses={200: shapes.RetakenSerializer, **REFUSALS},
        operation_id="work_take_back",
    )
    def post(self, request: Request, slot: str) -> Response:
        _, claim = _read_for_claim(shapes.TokenSerializer, request, slot)
        held = take_back(actor=actor(request), claim=claim)
        return Response({"token": held.token, "expires_at": held.expires_at})


class DialogueReviews(APIView):
    """List the reviews of a dialogue that you may see, oldest first; in a blind stage only yours until it ends."""

    pagination_class = KeysetPagination
    since_meaning = "Reviews: all of them if the dialogue has changed, because they may have become visible by that."

    @extend_schema(
        responses={200: shapes.ReviewSerializer(many=True), 404: NOT_FOUND}, operation_id="dialogues_reviews"
    )
    def get(self, request: Request, slug: str, public_id: str) -> Response:
        dialogue = requested_dialogue(request, slug, public_id)
        rows = (
            Review.objects.visible_to(actor(request))
            .filter(dialogue=dialogue)
            .select_related("person", "stage_run", "seen_revision", "made_revision")
            .defer("seen_revision__content", "made_revision__content")
            .prefetch_related("errors", "rulings")
        )
        if is_blind(actor=actor(request), dialogue=dialogue):
            rows = rows.filter(person=actor(request))
        return answer_page(self, request, rows, shapes.ReviewSerializer, parts_changed_since(dialogue))


def submission_of(who: User, claim: Claim, sent: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of ``submit_review`` from the fields of ``SubmissionSerializer``.

    Raises Invalid for checklist answers on a task that is in none of the documents.
    """
    _require_places(who, claim, sent)
    return {
        "slot": claim.slot,
        "token": claim.token,
        "claim": claim,
        "verdict": sent["verdict"],
        "document": sent.get("document"),
        "checklist": sent["checklist"],
        "notes": sent["checklist_notes"],
        "named_errors": sent["named_errors"],
        "reason": sent["reason"],
        "rulings": sent["rulings"],
    }


def submitted_answer(review: Review) -> dict[str, Any]:
    """Return the answer to a submission; see ``SubmittedSerializer``."""
    made = review.made_revision
    return {
        "public_id": review.public_id,
        "verdict": review.verdict,
        "made_revision": made.public_id if made else None,
        "seconds": review.seconds,
        "created_at": review.created_at,
    }


def _read_for_claim(shape: type[Input], request: Request, slot: str) -> tuple[dict[str, Any], Claim]:
    """Return the request's fields and the actor's claim on the slot that has the sent token, active or not.

    Raises Hidden, before the body is read, for a slot the actor never claimed, and for a token of somebody else or
    none.
    """
    claim = load_claim(actor=actor(request), slot=slot)
    sent = read_fields(shape, request)
    return sent, claim_with_token(actor(request), claim, sent["token"])


def claim_with_token(who: User, claim: Claim, token: str) -> Claim:
    """Return the person's claim on the same slot that has this token, active or not. Raises Hidden."""
    return claim if token == claim.token else load_claim(actor=who, slot=claim.slot.public_id, token=token)


def _require_places(who: User, claim: Claim, sent: Mapping[str, Any]) -> None:
    """Raise Invalid for checklist answers and notes on a task that is in none of the documents.

    A page may still send answers on a task that was removed, which are ignored; a program has misspelt the task's id.
    """
    named = {*sent["checklist"], *sent["checklist_notes"]} - {WHOLE}
    if not named or claim.state == ClaimState.SUBMITTED:
        return
    documents = [claim.slot.revision.document(), sent.get("document", {})]
    if "document" not in sent and (draft := open_draft_of(who, claim.slot)) is not None:
        documents.append(draft.document())
    tasks = [tasks for document in documents if isinstance(tasks := document.get("tasks"), list)]
    there = {task.get("id") for task in chain(*tasks) if isinstance(task, dict) and isinstance(task.get("id"), str)}
    if lost := sorted(named - there):
        raise Invalid(
            _("The dialogue has no task “%(task)s”. Use a task’s id, or “%(whole)s” for the whole dialogue.")
            % {"task": lost[0][:100], "whole": WHOLE}
        )


def claimed_answer(claim: Claim) -> dict[str, Any]:
    """Return a claim with everything that is needed to review the item; see ``ClaimSerializer``."""
    slot = load_claimed_item(claim)
    dialogue, revision = slot.dialogue, slot.revision
    return {
        "slot": slot.public_id,
        "token": claim.token,
        "expires_at": claim.expires_at,
        "stage": _stage(stage_of(slot)),
        "dialogue": {"public_id": dialogue.public_id, "external_id": dialogue.external_id},
        "revision": {"public_id": revision.public_id, "content_hash": revision.content_hash},
        "document": stored_json(revision.content),
        "tools": stored_tools(revision.toolset_revision.content),
        "suggestions": [
            {"place": one.place, "value": one.value, "source": one.source, "score": one.score}
            for one in suggested_for(revision=revision, project=claim.project)
        ],
    }


def _stage(stage: Stage) -> dict[str, Any]:
    return {
        "key": stage.key,
        "title": stage.title,
        "kind": stage.kind,
        "blind": stage.blind,
        "verdicts": list(offered_verdicts(stage)),
        "checklist": [
            {
                "key": item.key,
                "text": item.text,
                "per_task": item.per_task,
                "applies": item.applies,
                "required": stage.checklist.required or item.required,
            }
            for item in stage.checklist.items
        ],
    }
