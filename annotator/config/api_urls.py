"""Addresses of the API: each app brings its own."""

from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView

urlpatterns = [
    path("", include("reviews.api_urls")),
    path("", include("annotator.api.urls")),
    path("", include("benchmark.api_urls")),
    path("schema/", SpectacularAPIView.as_view(), name="api-schema"),
]
