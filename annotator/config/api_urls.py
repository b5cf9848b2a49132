"""Addresses of the API: those of each app."""

from django.urls import include, path

urlpatterns = [
    path("", include("reviews.api.urls")),
    path("", include("annotator.api.urls")),
    path("", include("benchmark.api.urls")),
]
