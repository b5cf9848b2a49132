"""Addresses of the work API."""

from django.urls import path

from reviews import api

_WORK = "work/<str:slot>/"

urlpatterns = [
    path("projects/<slug:slug>/status/", api.ProjectStatus.as_view(), name="api-project-status"),
    path("projects/<slug:slug>/claims/", api.ClaimNext.as_view(), name="api-claim"),
    path(
        "projects/<slug:slug>/dialogues/<str:public_id>/reviews/",
        api.DialogueReviews.as_view(),
        name="api-review-list",
    ),
    path(_WORK + "submit/", api.Submit.as_view(), name="api-work-submit"),
    path(_WORK + "heartbeat/", api.Heartbeat.as_view(), name="api-work-heartbeat"),
    path(_WORK + "release/", api.Release.as_view(), name="api-work-release"),
    path(_WORK + "skip/", api.Skip.as_view(), name="api-work-skip"),
]
