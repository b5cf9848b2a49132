"""Addresses of the API: each app brings its own."""

from django.urls import include, path

urlpatterns = [
    path("", include("reviews.api.urls")),
    path("", include("annotator.api.urls")),
    path("", include("benchmark.api.urls")),
]
