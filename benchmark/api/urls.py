"""URLs of the API of imports, releases and scores."""

from django.urls import path

from annotator.views.uploads import stores_files
from benchmark.api import (
    boards,
    composites,
    construction,
    coverage,
    dataset_statistics,
    endpoints,
    entries,
    errata,
    exports,
    generations,
    inferences,
    list_exports,
    project_data,
    public_links,
    release_differences,
    release_settings,
    runs,
    similarity,
    views,
)

_IMPORT = "projects/<slug:slug>/imports/<str:public_id>/"
_RELEASE = "projects/<slug:slug>/releases/<str:public_id>/"
_PREDICTIONS = "projects/<slug:slug>/predictions/<str:public_id>/"
_RUN = "projects/<slug:slug>/runs/<str:public_id>/"
_INFERENCE = "projects/<slug:slug>/inferences/<str:public_id>/"
_GENERATION = "projects/<slug:slug>/generations/<str:public_id>/"
_DIALOGUE = "projects/<slug:slug>/dialogues/<str:public_id>/"

urlpatterns = [
    path("export/", list_exports.ListExport.as_view(), name="api-list-export"),
    path("projects/<slug:slug>/dialogues/export/", exports.DialogueExport.as_view(), name="api-dialogue-export"),
    path(
        "projects/<slug:slug>/dialogues/statistics/",
        dataset_statistics.DialogueStatistics.as_view(),
        name="api-dialogue-statistics",
    ),
    path("projects/<slug:slug>/imports/", stores_files(views.ImportList.as_view()), name="api-import-list"),
    path(_IMPORT, views.ImportDetail.as_view(), name="api-import"),
    path(_IMPORT + "confirm/", views.ImportConfirm.as_view(), name="api-import-confirm"),
    path(_IMPORT + "cancel/", views.ImportCancel.as_view(), name="api-import-cancel"),
    path(_IMPORT + "repeat/", views.ImportRepeat.as_view(), name="api-import-repeat"),
    path(_IMPORT + "report/", views.ImportReport.as_view(), name="api-import-report"),
    path("projects/<slug:slug>/export/", project_data.Export.as_view(), name="api-project-export"),
    path(
        "projects/<slug:slug>/export/archive/", project_data.ExportArchive.as_view(), name="api-project-export-archive"
    ),
    path("projects/<slug:slug>/deletion/", project_data.Deletion.as_view(), name="api-project-deletion"),
    path("projects/<slug:slug>/constructed-cases/", construction.Construct.as_view(), name="api-construct-cases"),
    path("projects/<slug:slug>/composites/", composites.Compose.as_view(), name="api-compose"),
    path("projects/<slug:slug>/coverage/", coverage.ProjectCoverage.as_view(), name="api-coverage"),
    path("projects/<slug:slug>/generations/", generations.GenerationList.as_view(), name="api-generation-list"),
    path("projects/<slug:slug>/generations/next/", generations.GenerationNext.as_view(), name="api-generation-next"),
    path(_GENERATION, generations.GenerationDetail.as_view(), name="api-generation"),
    path(_GENERATION + "answers/", generations.GenerationAnswers.as_view(), name="api-generation-answers"),
    path(_GENERATION + "claim/", generations.GenerationClaims.as_view(), name="api-generation-claim"),
    path(_GENERATION + "release/", generations.GenerationRelease.as_view(), name="api-generation-release"),
    path(_GENERATION + "heartbeat/", generations.GenerationHeartbeat.as_view(), name="api-generation-heartbeat"),
    path(_GENERATION + "act/", generations.GenerationAct.as_view(), name="api-generation-act"),
    path(_GENERATION + "pause/", generations.GenerationPause.as_view(), name="api-generation-pause"),
    path(_GENERATION + "continue/", generations.GenerationContinue.as_view(), name="api-generation-continue"),
    path("projects/<slug:slug>/similarity/", similarity.Similarity.as_view(), name="api-similarity"),
    path("projects/<slug:slug>/releases/", views.ReleaseList.as_view(), name="api-release-list"),
    path(
        "projects/<slug:slug>/releases/settings/",
        release_settings.ReleaseSettings.as_view(),
        name="api-release-settings",
    ),
    path(_RELEASE, views.ReleaseDetail.as_view(), name="api-release"),
    path(_RELEASE + "statistics/", dataset_statistics.ReleaseStatistics.as_view(), name="api-release-statistics"),
    path(_RELEASE + "left-out/", views.ReleaseLeftOut.as_view(), name="api-release-left-out"),
    path(_RELEASE + "diff/", release_differences.ReleaseDiff.as_view(), name="api-release-diff"),
    path(_RELEASE + "errata/", errata.ErratumAdd.as_view(), name="api-erratum-add"),
    path(_RELEASE + "errata/link/", public_links.SharedErrata.as_view(), name="api-errata-link"),
    path(_RELEASE + "errata.jsonl", errata.ErrataLog.as_view(), name="api-errata-log"),
    path(_RELEASE + "errata/reports/", errata.ReportList.as_view(), name="api-erratum-report-list"),
    path(_RELEASE + "errata/reports/<str:report>/", errata.ReportDetail.as_view(), name="api-erratum-report"),
    path(_RELEASE + "errata/reports/<str:report>/confirm/", errata.Confirm.as_view(), name="api-erratum-confirm"),
    path(_RELEASE + "errata/reports/<str:report>/decline/", errata.Decline.as_view(), name="api-erratum-decline"),
    path(_RELEASE + "archive/", views.ReleaseArchive.as_view(), name="api-release-archive"),
    path(_RELEASE + "predictions/", stores_files(runs.PredictionList.as_view()), name="api-prediction-list"),
    path(_PREDICTIONS, runs.PredictionDetail.as_view(), name="api-prediction"),
    path(_RELEASE + "runs/", runs.RunList.as_view(), name="api-model-run-list"),
    path("projects/<slug:slug>/runs/compare/", boards.RunCompare.as_view(), name="api-model-run-compare"),
    path(
        "projects/<slug:slug>/runs/compare/entries/",
        boards.RunCompareEntries.as_view(),
        name="api-model-run-compare-entry-list",
    ),
    path(_RUN, runs.RunDetail.as_view(), name="api-model-run"),
    path(_RUN + "entries/", runs.RunEntryList.as_view(), name="api-model-run-entry-list"),
    path(_RUN + "entries/<str:key>/", runs.RunEntryDetail.as_view(), name="api-model-run-entry"),
    path(_RUN + "score-again/", boards.RunAgain.as_view(), name="api-model-run-again"),
    path(_RELEASE + "scores/", boards.ScoreBoard.as_view(), name="api-score-board"),
    path(_RELEASE + "scores/file/", boards.ScoreBoardFile.as_view(), name="api-score-board-file"),
    path(_RELEASE + "scores/link/", public_links.SharedScores.as_view(), name="api-score-board-link"),
    path(_RELEASE + "scores/recount/", boards.Recount.as_view(), name="api-score-board-recount"),
    path(_RELEASE + "entries/", entries.EntryList.as_view(), name="api-entry-list"),
    path(_RELEASE + "entries/<str:key>/", entries.EntryDetail.as_view(), name="api-entry"),
    path(_RELEASE + "entries/<str:key>/send-back/", entries.EntrySendBack.as_view(), name="api-entry-send-back"),
    path("projects/<slug:slug>/endpoints/", endpoints.EndpointList.as_view(), name="api-endpoint-list"),
    path("projects/<slug:slug>/endpoints/<str:public_id>/", endpoints.EndpointDetail.as_view(), name="api-endpoint"),
    path(_RELEASE + "inferences/", inferences.InferenceList.as_view(), name="api-inference-list"),
    path(_RELEASE + "baselines/", inferences.BaselineList.as_view(), name="api-baseline-list"),
    path(_INFERENCE, inferences.InferenceDetail.as_view(), name="api-inference"),
    path(_INFERENCE + "cancel/", inferences.InferenceCancel.as_view(), name="api-inference-cancel"),
    path(_INFERENCE + "continue/", inferences.InferenceContinue.as_view(), name="api-inference-continue"),
    path(_DIALOGUE + "plays/", composites.PlayStart.as_view(), name="api-play-list"),
    path(_DIALOGUE + "plays/<str:play>/", composites.PlayDetail.as_view(), name="api-play"),
    path(_DIALOGUE + "answers/", entries.DialogueAnswers.as_view(), name="api-dialogue-answers"),
]
