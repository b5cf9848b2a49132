"""Review sessions for programs: the disputes of a round, who is present, and decisions made together.

For administrators and senior reviewers.
"""

from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.inputs import BoundedListField, Input, StrictCharField, read_fields
from annotator.api.pagination import KeyPagination, answer_page
from annotator.api.views import NOT_FOUND, REFUSALS, actor
from annotator.core.scopes import Scope
from annotator.errors import Conflict
from annotator.models import Project
from annotator.services.access.permissions import load_project
from reviews.api import serializers as shapes
from reviews.api.reviews import claim_with_token, claimed_answer, submission_of, submitted_answer
from reviews.models import SessionDecision
from reviews.services.adjudication import review_sessions as sessions
from reviews.services.queue.slot_work import load_claim

_READ = {403: REFUSALS[403], 404: NOT_FOUND}


def _people(**more: Any) -> BoundedListField:
    return BoundedListField(child=StrictCharField(max_length=12), max_length=500, **more)


class DisputedRoundSerializer(serializers.Serializer[Any]):
    """A round of a stage."""

    address = serializers.CharField(help_text="Its name in addresses, such as cross_check-1.")
    stage = serializers.CharField()
    title = serializers.CharField()
    number = serializers.IntegerField()
    open = serializers.IntegerField(help_text="Disputes that are not settled.")


class DisputedRoundsSerializer(serializers.Serializer[Any]):
    rounds = DisputedRoundSerializer(many=True)


class OpenDisputeSerializer(serializers.Serializer[Any]):
    """An item on which the reviewers of the round disagreed and that is not settled."""

    dialogue = serializers.CharField(source="dialogue.public_id")
    external_id = serializers.CharField(source="dialogue.external_id")
    discrepancies = serializers.IntegerField(help_text="Places that differ; different verdicts count as one.")
    verdicts = serializers.SerializerMethodField(help_text="The verdict of each reviewer.")
    available = serializers.SerializerMethodField(help_text="Whether you can claim it, or have claimed it.")
    refusal = serializers.CharField(help_text="Why you may not settle it; blank if you may.")

    def get_verdicts(self, dispute: Any) -> list[str]:
        return [review.verdict for review in dispute.reviews]

    def get_available(self, dispute: Any) -> bool:
        return dispute in self.context["free"]


class TallySerializer(serializers.Serializer[Any]):
    choices = serializers.DictField(child=serializers.IntegerField(), help_text="Choice → rulings.")
    reasons = serializers.DictField(child=serializers.IntegerField(), help_text="Error type → rulings.")


class ReviewSessionSerializer(DisputedRoundSerializer):
    """The session of a round: who is present, the open disputes, and figures on the decisions."""

    started = serializers.BooleanField(help_text="Whether somebody has said who is present.")
    present = serializers.ListField(child=serializers.CharField(), help_text="Public ids of people.")
    disputes = OpenDisputeSerializer(many=True)
    decided = serializers.IntegerField(help_text="Decisions that were made together.")
    rulings = TallySerializer(help_text="Counts over all of these decisions.")


class SessionDecisionSerializer(serializers.ModelSerializer[SessionDecision]):
    """A dispute that was decided together."""

    review = serializers.CharField(source="review.public_id")
    dialogue = serializers.CharField(source="review.dialogue.public_id")
    external_id = serializers.CharField(source="review.dialogue.external_id")
    verdict = serializers.CharField(source="review.verdict")
    person = serializers.CharField(source="review.person.public_id", help_text="Who submitted it.")
    present = serializers.SerializerMethodField()
    rulings = shapes.LengthField(source="review.rulings.all")
    created_at = serializers.DateTimeField(source="review.created_at")

    class Meta:
        model = SessionDecision
        fields = ["review", "dialogue", "external_id", "verdict", "person", "present", "rulings", "note", "created_at"]

    def get_present(self, decision: SessionDecision) -> list[str]:
        return [one.public_id for one in decision.participants.all()]


class AttendanceSerializer(Input):
    people = _people(allow_empty=False, help_text="Public ids of the members who are present.")


class DisputeClaimSerializer(Input):
    dialogue = StrictCharField(max_length=12, help_text="The public id of a dialogue with an open dispute.")


class DecisionSerializer(shapes.SubmissionSerializer):
    """A submission as for POST …/submit/, and who was present."""

    slot = StrictCharField(max_length=12, help_text="The slot of your claim.")
    people = _people(
        required=False, default=None, allow_null=True, help_text="By default those present at the session."
    )
    note = StrictCharField(max_length=sessions.MAX_NOTE, required=False, allow_blank=True, default="")


class ReviewSessions(APIView):
    """The rounds with open disputes, in the order of the protocol."""

    @extend_schema(responses={200: DisputedRoundsSerializer, **_READ}, operation_id="review_sessions_list")
    def get(self, request: Request, slug: str) -> Response:
        project = load_project(actor=actor(request), slug=slug)
        rounds = sessions.rounds_in_dispute(actor=actor(request), project=project)
        return Response(DisputedRoundsSerializer({"rounds": rounds}).data)


class ReviewSessionDetail(APIView):
    """The session of one round."""

    scope = Scope.ADMINISTER

    @extend_schema(responses={200: ReviewSessionSerializer, **_READ}, operation_id="review_sessions_read")
    def get(self, request: Request, slug: str, round: str) -> Response:
        return Response(_shown(request, *_round(request, slug, round)))

    @extend_schema(
        request=AttendanceSerializer,
        responses={200: ReviewSessionSerializer, **REFUSALS},
        operation_id="review_sessions_start",
    )
    def post(self, request: Request, slug: str, round: str) -> Response:
        """Start the session, or change who is present."""
        project, where = _round(request, slug, round)
        sent = read_fields(AttendanceSerializer, request)
        sessions.start_session(actor=actor(request), project=project, round=where, people=sent["people"])
        return Response(_shown(request, project, where))


class ReviewSessionClaim(APIView):
    """A dispute that you open in the session."""

    scope = Scope.ANNOTATE

    @extend_schema(
        request=DisputeClaimSerializer,
        responses={201: shapes.ClaimSerializer, **REFUSALS},
        operation_id="review_sessions_claim",
    )
    def post(self, request: Request, slug: str, round: str) -> Response:
        """Claim a dispute of the session and release your other claims in it. Yours again returns the same claim."""
        project, where = _round(request, slug, round)
        sent = read_fields(DisputeClaimSerializer, request)
        slot = sessions.open_dispute(actor=actor(request), project=project, round=where, dialogue_id=sent["dialogue"])
        sessions.enter_session(actor=actor(request), slot=slot, session=_session(project, where))
        claim = load_claim(actor=actor(request), slot=slot.public_id)
        return Response(claimed_answer(claim), status=status.HTTP_201_CREATED)


class ReviewSessionDecisions(APIView):
    """The decisions of the session that you may see, oldest first; POST to decide a claimed dispute together."""

    scope = Scope.ANNOTATE
    pagination_class = KeyPagination
    since_meaning = "Decisions: also those on dialogues that have changed since, because they may be new to you."

    @extend_schema(
        responses={200: SessionDecisionSerializer(many=True), **_READ}, operation_id="review_sessions_decisions"
    )
    def get(self, request: Request, slug: str, round: str) -> Response:
        project, where = _round(request, slug, round)
        rows = sessions.decisions_of(actor=actor(request), project=project, round=where)
        return answer_page(self, request, rows, SessionDecisionSerializer, sessions.decisions_changed_since)

    @extend_schema(
        request=DecisionSerializer,
        responses={201: shapes.SubmittedSerializer, **REFUSALS},
        operation_id="review_sessions_decide",
    )
    def post(self, request: Request, slug: str, round: str) -> Response:
        """Submit the decision and record who was present. The same body again returns the first answer."""
        project, where = _round(request, slug, round)
        sent = read_fields(DecisionSerializer, request)
        session = _session(project, where)
        latest = load_claim(actor=actor(request), slot=sent.pop("slot"))
        claim = claim_with_token(actor(request), latest, sent["token"])
        people, note = sent.pop("people"), sent.pop("note")
        if people is None:
            people = session.participants.values_list("public_id", flat=True)
        review = sessions.decide_together(
            actor=actor(request),
            session=session,
            people=list(people),
            note=note,
            submission=submission_of(actor(request), claim, sent),
        )
        return Response(submitted_answer(review), status=status.HTTP_201_CREATED)


def _round(request: Request, slug: str, round: str) -> tuple[Project, sessions.Round]:
    project = load_project(actor=actor(request), slug=slug)
    return project, sessions.find_round(actor=actor(request), project=project, address=round)


def _session(project: Project, where: sessions.Round) -> Any:
    session = sessions.session_for(project=project, round=where)
    if session is None:
        raise Conflict(_("Send who is present first, with a POST request to the session."))
    return session


def _shown(request: Request, project: Project, where: sessions.Round) -> Any:
    who = actor(request)
    summary = sessions.read_session_summary(actor=who, project=project, round=where, start=0)
    found = {
        "address": where.address,
        "stage": where.stage,
        "title": where.title,
        "number": where.number,
        "open": len(summary.disputes),
        "started": summary.session is not None,
        "present": [one.public_id for one in summary.present],
        "disputes": summary.disputes,
        "decided": summary.decided,
        "rulings": {"choices": dict(summary.choices), "reasons": dict(summary.reasons)},
    }
    return ReviewSessionSerializer(found, context={"free": summary.free_for(who)}).data
