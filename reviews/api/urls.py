"""Addresses of the work API."""

from django.urls import path

from reviews.api import assignments, dialogues, reviews, statistics

_WORK = "work/<str:slot>/"
_P = "projects/<slug:slug>/"

urlpatterns = [
    path(_P + "dialogues/", dialogues.DialogueList.as_view(), name="api-dialogue-list"),
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
    path(_P + "assignments/plans/", assignments.Plans.as_view(), name="api-assignment-plan-list"),
    path(_P + "assignments/plans/<str:public_id>/", assignments.PlanDetail.as_view(), name="api-assignment-plan"),
    path(_P + "pauses/", assignments.Pauses.as_view(), name="api-pause-list"),
    path(_P + "pauses/<str:public_id>/end/", assignments.PauseEnd.as_view(), name="api-pause-end"),
]
