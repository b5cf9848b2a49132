"""Addresses of the API: each app brings its own."""

from django.urls import include, path

urlpatterns = [
    path("", include("reviews.api_urls")),
    path("", include("annotator.api.urls")),
    path("", include("benchmark.api_urls")),
]
