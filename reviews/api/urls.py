"""Addresses of the work API."""

from django.urls import path

from reviews.api import assignment_rules, assignments, dialogues, gold, protocols, reviews, statistics, toolsets

_WORK = "work/<str:slot>/"
_P = "projects/<slug:slug>/"

urlpatterns = [
    path(_P + "dialogues/", dialogues.DialogueList.as_view(), name="api-dialogue-list"),
    path(_P + "dialogues/count/", dialogues.DialogueCount.as_view(), name="api-dialogue-count"),
    path(_P + "claims/", reviews.ClaimNext.as_view(), name="api-claim"),
    path(_WORK + "submit/", reviews.Submit.as_view(), name="api-work-submit"),
    path(_WORK + "heartbeat/", reviews.Heartbeat.as_view(), name="api-work-heartbeat"),
    path(_WORK + "release/", reviews.Release.as_view(), name="api-work-release"),
    path(_WORK + "waive/", reviews.Waive.as_view(), name="api-work-waive"),
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
    path(_P + "toolsets/", toolsets.ToolsetList.as_view(), name="api-toolset-list"),
    path(_P + "toolsets/<str:public_id>/", toolsets.ToolsetDetail.as_view(), name="api-toolset"),
    path(_P + "toolsets/<str:public_id>/preview/", toolsets.ToolsetPreview.as_view(), name="api-toolset-preview"),
]
