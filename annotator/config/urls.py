"""All addresses. Apps are named as strings, so nothing is imported from them here."""

from django.urls import include, path

urlpatterns = [
    # First, because programs send many requests and addresses are tried in order.
    path("api/", include("annotator.config.api_urls")),
    # Fixed addresses, such as that of exports, come before those with an id in the same place.
    path("", include("benchmark.urls")),
    path("", include("annotator.urls")),
    path("", include("reviews.urls")),
    path("accounts/", include("annotator.config.account_urls")),
]

handler400 = "annotator.views.errors.bad_request"
handler403 = "annotator.views.errors.denied"
handler404 = "annotator.views.errors.not_found"
handler500 = "annotator.views.errors.server_error"
