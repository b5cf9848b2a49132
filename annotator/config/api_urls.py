"""Addresses of the API: those of each app."""

from django.urls import include, path

urlpatterns = [
    # Fixed addresses, such as that of exports, come before those with an id in the same place.
    path("", include("benchmark.api.urls")),
    path("", include("reviews.api.urls")),
    path("", include("annotator.api.urls")),
]
