"""Addresses of the work API."""

from django.urls import path

from reviews.api import (
    assignment_rules,
    assignments,
    comments,
    dialogues,
    draws,
    examples,
    gold,
    history,
    outdated,
    protocols,
    review_sessions,
    reviews,
    saved_views,
    statistics,
    toolsets,
)

_WORK = "work/<str:slot>/"
_P = "projects/<slug:slug>/"
_DIALOGUE = _P + "dialogues/<str:public_id>/"
_DRAW = _P + "draws/<str:public_id>/"
_CHANGE = _P + "guideline/outdated/<str:public_id>/"
_SESSION = _P + "review-sessions/<str:round>/"

urlpatterns = [
    path(_P + "dialogues/", dialogues.DialogueList.as_view(), name="api-dialogue-list"),
    path(_P + "dialogues/count/", dialogues.DialogueCount.as_view(), name="api-dialogue-count"),
    path(_P + "claims/", reviews.ClaimNext.as_view(), name="api-claim"),
    path(_WORK + "submit/", reviews.Submit.as_view(), name="api-work-submit"),
    path(_WORK + "heartbeat/", reviews.Heartbeat.as_view(), name="api-work-heartbeat"),
    path(_WORK + "release/", reviews.Release.as_view(), name="api-work-release"),
    path(_WORK + "waive/", reviews.Waive.as_view(), name="api-work-waive"),
    path(_WORK + "unwaive/", reviews.Unwaive.as_view(), name="api-work-unwaive"),
    path(_WORK + "skip/", reviews.Skip.as_view(), name="api-work-skip"),
    path(_P + "status/", reviews.ProjectStatus.as_view(), name="api-project-status"),
    path(_P + "statistics/progress/", statistics.ProgressStatistics.as_view(), name="api-statistics-progress"),
    path(_P + "statistics/accuracy/", statistics.AccuracyStatistics.as_view(), name="api-statistics-accuracy"),
    path(_P + "statistics/revisions/", statistics.RevisionStatistics.as_view(), name="api-statistics-revisions"),
    path(_P + "statistics/agreement/", statistics.AgreementStatistics.as_view(), name="api-statistics-agreement"),
    path(_P + "statistics/fields/", statistics.FieldStatistics.as_view(), name="api-statistics-fields"),
    path(_P + "statistics/suggestions/", statistics.SuggestionStatistics.as_view(), name="api-statistics-suggestions"),
    path(
        _P + "statistics/people/<str:public_id>/", statistics.PersonStatistics.as_view(), name="api-statistics-person"
    ),
    path(_P + "dialogues/<str:public_id>/reviews/", reviews.DialogueReviews.as_view(), name="api-review-list"),
    path(_P + "assignments/", assignments.Assignments.as_view(), name="api-assignment-list"),
    path(_P + "assignments/rules/", assignment_rules.Rules.as_view(), name="api-assignment-rules"),
    path(_P + "assignments/plans/", assignments.Plans.as_view(), name="api-assignment-plan-list"),
    path(_P + "assignments/plans/<str:public_id>/", assignments.PlanDetail.as_view(), name="api-assignment-plan"),
    path(
        _P + "assignments/plans/<str:public_id>/undo/",
        assignments.PlanUndo.as_view(),
        name="api-assignment-plan-undo",
    ),
    path(_P + "pauses/", assignments.Pauses.as_view(), name="api-pause-list"),
    path(_P + "pauses/<str:public_id>/end/", assignments.PauseEnd.as_view(), name="api-pause-end"),
    path(_P + "protocol/", protocols.ProtocolCurrent.as_view(), name="api-protocol"),
    path(_P + "protocol/check/", protocols.ProtocolCheck.as_view(), name="api-protocol-check"),
    path(_P + "protocol/move/", protocols.ProtocolMove.as_view(), name="api-protocol-move"),
    path(_P + "protocol/versions/", protocols.ProtocolVersions.as_view(), name="api-protocol-version-list"),
    path(_P + "protocol/versions/<str:number>/", protocols.ProtocolDetail.as_view(), name="api-protocol-version"),
    path(_P + "gold/", gold.GoldItems.as_view(), name="api-gold-list"),
    path(_P + "gold/rates/", gold.GoldRates.as_view(), name="api-gold-rates"),
    path(_P + "gold/<str:public_id>/", gold.GoldItemDetail.as_view(), name="api-gold"),
    path(_P + "gold/<str:public_id>/retire/", gold.GoldItemRetire.as_view(), name="api-gold-retire"),
    path(_P + "draws/", draws.Draws.as_view(), name="api-draw-list"),
    path(_P + "draws/pools/", draws.Pools.as_view(), name="api-draw-pools"),
    path(_DRAW, draws.DrawDetail.as_view(), name="api-draw"),
    path(_DRAW + "check/", draws.DrawCheck.as_view(), name="api-draw-check"),
    path(_DRAW + "population/", draws.DrawPopulation.as_view(), name="api-draw-population"),
    path(_P + "guideline/outdated/", outdated.GuidelineChanges.as_view(), name="api-outdated-list"),
    path(_P + "guideline/outdated/preview/", outdated.GuidelineChangePreview.as_view(), name="api-outdated-preview"),
    path(_CHANGE, outdated.GuidelineChangeDetail.as_view(), name="api-outdated"),
    path(_CHANGE + "send-back/", outdated.GuidelineChangeSendBack.as_view(), name="api-outdated-send-back"),
    path(_CHANGE + "withdraw/", outdated.GuidelineChangeWithdraw.as_view(), name="api-outdated-withdraw"),
    path(_P + "examples/", examples.Examples.as_view(), name="api-example-list"),
    path(_P + "examples/<str:public_id>/", examples.ExampleDetail.as_view(), name="api-example"),
    path(_P + "examples/<str:public_id>/withdraw/", examples.ExampleWithdraw.as_view(), name="api-example-withdraw"),
    path(_P + "review-sessions/", review_sessions.ReviewSessions.as_view(), name="api-review-session-list"),
    path(_SESSION, review_sessions.ReviewSessionDetail.as_view(), name="api-review-session"),
    path(_SESSION + "claims/", review_sessions.ReviewSessionClaim.as_view(), name="api-review-session-claim"),
    path(_SESSION + "decisions/", review_sessions.ReviewSessionDecisions.as_view(), name="api-session-decision-list"),
    path(_DIALOGUE + "comments/", comments.Comments.as_view(), name="api-comment-list"),
    path(_DIALOGUE + "comments/<str:comment>/resolve/", comments.CommentResolve.as_view(), name="api-comment-resolve"),
    path(_DIALOGUE + "comments/<str:comment>/reopen/", comments.CommentReopen.as_view(), name="api-comment-reopen"),
    path(_P + "views/", saved_views.SavedViews.as_view(), name="api-saved-view-list"),
    path(_P + "views/<str:public_id>/", saved_views.SavedViewDetail.as_view(), name="api-saved-view"),
    path(_P + "history/", history.History.as_view(), name="api-history-list"),
    path(_P + "history/events.jsonl", history.HistoryFile.as_view(), name="api-history-file"),
    path(_P + "history/check/", history.HistoryCheck.as_view(), name="api-history-check"),
    path(_P + "toolsets/", toolsets.ToolsetList.as_view(), name="api-toolset-list"),
    path(_P + "toolsets/<str:public_id>/", toolsets.ToolsetDetail.as_view(), name="api-toolset"),
    path(_P + "toolsets/<str:public_id>/preview/", toolsets.ToolsetPreview.as_view(), name="api-toolset-preview"),
]
