"""Addresses of the work API."""

from django.urls import path

from reviews import api, api_assignments, api_dialogues, api_statistics

_WORK = "work/<str:slot>/"

urlpatterns = [
    path("projects/<slug:slug>/dialogues/", api_dialogues.DialogueList.as_view(), name="api-dialogue-list"),
    path("projects/<slug:slug>/claims/", api.ClaimNext.as_view(), name="api-claim"),
    path(_WORK + "submit/", api.Submit.as_view(), name="api-work-submit"),
    path(_WORK + "heartbeat/", api.Heartbeat.as_view(), name="api-work-heartbeat"),
    path(_WORK + "release/", api.Release.as_view(), name="api-work-release"),
    path(_WORK + "waive/", api.Waive.as_view(), name="api-work-waive"),
    path(_WORK + "skip/", api.Skip.as_view(), name="api-work-skip"),
    path("projects/<slug:slug>/status/", api.ProjectStatus.as_view(), name="api-project-status"),
    path(
        "projects/<slug:slug>/statistics/progress/",
        api_statistics.ProgressStatistics.as_view(),
        name="api-statistics-progress",
    ),
    path(
        "projects/<slug:slug>/statistics/accuracy/",
        api_statistics.AccuracyStatistics.as_view(),
        name="api-statistics-accuracy",
    ),
    path(
        "projects/<slug:slug>/statistics/revisions/",
        api_statistics.RevisionStatistics.as_view(),
        name="api-statistics-revisions",
    ),
    path(
        "projects/<slug:slug>/statistics/agreement/",
        api_statistics.AgreementStatistics.as_view(),
        name="api-statistics-agreement",
    ),
    path(
        "projects/<slug:slug>/statistics/people/<str:public_id>/",
        api_statistics.PersonStatistics.as_view(),
        name="api-statistics-person",
    ),
    path(
        "projects/<slug:slug>/dialogues/<str:public_id>/reviews/",
        api.DialogueReviews.as_view(),
        name="api-review-list",
    ),
    path("projects/<slug:slug>/assignments/", api_assignments.Assignments.as_view(), name="api-assignment-list"),
    path("projects/<slug:slug>/assignments/plans/", api_assignments.Plans.as_view(), name="api-assignment-plan-list"),
    path(
        "projects/<slug:slug>/assignments/plans/<str:public_id>/",
        api_assignments.PlanDetail.as_view(),
        name="api-assignment-plan",
    ),
    path("projects/<slug:slug>/pauses/", api_assignments.Pauses.as_view(), name="api-pause-list"),
    path("projects/<slug:slug>/pauses/<str:public_id>/end/", api_assignments.PauseEnd.as_view(), name="api-pause-end"),
]
