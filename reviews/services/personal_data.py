"""What reviewing stores about a person: see ``annotator.services.accounts.personal_data``."""

from annotator.models import User
from annotator.services.accounts.personal_data import IN_HISTORY, NOT_EXPORTED, OF_A_MOMENT, PERSONAL_DATA, table
from annotator.services.accounts.pseudonymising import FORGET_PERSON
from reviews.models import DailyGoal

_ABOUT_OTHERS = "its rows are about other people’s work"
_KNOWN_ANSWERS = "it would tell which items have known answers"

PERSONAL_DATA += [
    table("reviews.Review.person", "public_id project__slug stage_kind verdict reason seconds created_at"),
    table("reviews.Comment.author", "public_id text created_at edited_at"),
    table("reviews.Feedback.person", "public_id kind created_at"),
    table("reviews.FeedbackReply.author", "feedback__public_id text created_at"),
    table("reviews.Trainee.person", "project__slug state attempt changed_at"),
    table("reviews.TrainingResult.person", "project__slug attempt right errors found false_changes created_at"),
    table("reviews.DailyGoal.person", "project__slug reviews"),
    table("reviews.Pause.person", "project__slug stage reason created_at ended_at"),
]
NOT_EXPORTED |= {
    "reviews.Claim.person": OF_A_MOMENT,
    "reviews.QueueCursor.person": OF_A_MOMENT,
    "reviews.ReviewDraft.person": OF_A_MOMENT,
    "reviews.Slot.holder": OF_A_MOMENT,
    "reviews.Slot.owner": OF_A_MOMENT,
    "reviews.Slot.reserved_for": OF_A_MOMENT,
    "reviews.Slot.revision_author": OF_A_MOMENT,
    "reviews.GoldItem.created_by": _KNOWN_ANSWERS,
    "reviews.GoldItem.retired_by": _KNOWN_ANSWERS,
    "reviews.GoldScore.person": _KNOWN_ANSWERS,
    "reviews.Review.seen_author": _ABOUT_OTHERS,
    "reviews.SentBackStratum.owner": _ABOUT_OTHERS,
    **dict.fromkeys(
        (
            "reviews.AssignmentPlan.actor", "reviews.AssignmentPlan.confirmed_by", "reviews.CoAuthor.person",
            "reviews.Comment.resolved_by", "reviews.Draw.actor", "reviews.Example.author",
            "reviews.Example.withdrawn_by", "reviews.FeedbackDispute.answered_by", "reviews.Pause.actor",
            "reviews.Pause.ended_by", "reviews.ProtocolVersion.author", "reviews.ReviewSession.opened_by",
            "reviews.ReviewSession.participants", "reviews.ReviewSession_participants.user",
            "reviews.SensitivityTest.actor", "reviews.SessionDecision.participants",
            "reviews.SessionDecision_participants.user",
        ),
        IN_HISTORY,
    ),
}  # fmt: skip


@FORGET_PERSON.append
def _forget_goals(person: User) -> None:
    DailyGoal.objects.filter(person=person).delete()
