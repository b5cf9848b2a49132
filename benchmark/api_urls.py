"""Addresses of the API of imports and releases."""

from django.urls import path

from annotator.views.uploads import takes_files
from benchmark import api

_IMPORT = "projects/<slug:slug>/imports/<str:public_id>/"
_RELEASE = "projects/<slug:slug>/releases/<str:public_id>/"

urlpatterns = [
    path("projects/<slug:slug>/imports/", takes_files(api.ImportList.as_view()), name="api-import-list"),
    path(_IMPORT, api.ImportDetail.as_view(), name="api-import"),
    path(_IMPORT + "cancel/", api.ImportCancel.as_view(), name="api-import-cancel"),
    path(_IMPORT + "report/", api.ImportReport.as_view(), name="api-import-report"),
    path("projects/<slug:slug>/releases/", api.ReleaseList.as_view(), name="api-release-list"),
    path(_RELEASE, api.ReleaseDetail.as_view(), name="api-release"),
    path(_RELEASE + "left-out/", api.ReleaseLeftOut.as_view(), name="api-release-left-out"),
    path(_RELEASE + "archive/", api.ReleaseArchive.as_view(), name="api-release-archive"),
]
