"""Addresses of the work API."""

from django.urls import path

from reviews.api import assignments, dialogues, reviews, statistics

_WORK = "work/<str:slot>/"

urlpatterns = [
    path("projects/<slug:slug>/dialogues/", dialogues.DialogueList.as_view(), name="api-dialogue-list"),
    path("projects/<slug:slug>/claims/", reviews.ClaimNext.as_view(), name="api-claim"),
    path(_WORK + "submit/", reviews.Submit.as_view(), name="api-work-submit"),
    path(_WORK + "heartbeat/", reviews.Heartbeat.as_view(), name="api-work-heartbeat"),
    path(_WORK + "release/", reviews.Release.as_view(), name="api-work-release"),
    path(_WORK + "waive/", reviews.Waive.as_view(), name="api-work-waive"),
    path(_WORK + "skip/", reviews.Skip.as_view(), name="api-work-skip"),
    path("projects/<slug:slug>/status/", reviews.ProjectStatus.as_view(), name="api-project-status"),
    path(
        "projects/<slug:slug>/statistics/progress/",
        statistics.ProgressStatistics.as_view(),
        name="api-statistics-progress",
    ),
    path(
        "projects/<slug:slug>/statistics/accuracy/",
        statistics.AccuracyStatistics.as_view(),
        name="api-statistics-accuracy",
    ),
    path(
        "projects/<slug:slug>/statistics/revisions/",
        statistics.RevisionStatistics.as_view(),
        name="api-statistics-revisions",
    ),
    path(
        "projects/<slug:slug>/statistics/agreement/",
        statistics.AgreementStatistics.as_view(),
        name="api-statistics-agreement",
    ),
    path(
        "projects/<slug:slug>/statistics/people/<str:public_id>/",
        statistics.PersonStatistics.as_view(),
        name="api-statistics-person",
    ),
    path(
        "projects/<slug:slug>/dialogues/<str:public_id>/reviews/",
        reviews.DialogueReviews.as_view(),
        name="api-review-list",
    ),
    path("projects/<slug:slug>/assignments/", assignments.Assignments.as_view(), name="api-assignment-list"),
    path("projects/<slug:slug>/assignments/plans/", assignments.Plans.as_view(), name="api-assignment-plan-list"),
    path(
        "projects/<slug:slug>/assignments/plans/<str:public_id>/",
        assignments.PlanDetail.as_view(),
        name="api-assignment-plan",
    ),
    path("projects/<slug:slug>/pauses/", assignments.Pauses.as_view(), name="api-pause-list"),
    path("projects/<slug:slug>/pauses/<str:public_id>/end/", assignments.PauseEnd.as_view(), name="api-pause-end"),
]
