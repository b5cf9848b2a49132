"""Pages of imports, releases and runs."""

from django.urls import path

from benchmark.views import (
    answers,
    baselines,
    board_files,
    composites,
    imports,
    inference,
    jobs,
    plays,
    release_differences,
    releases,
    runs,
    shared_scores,
    suspects,
)

_IMPORT = "p/<slug:slug>/imports/<str:public_id>/"
_RUN = "p/<slug:slug>/runs/<str:public_id>/"
_RELEASE = "p/<slug:slug>/releases/<str:public_id>/"

urlpatterns = [
    path("p/<slug:slug>/imports/", imports.import_list, name="import-list"),
    path("p/<slug:slug>/imports/examples.zip", imports.import_examples, name="import-examples"),
    path(_IMPORT, imports.import_detail, name="import-detail"),
    path(_IMPORT + "preview/", imports.import_preview, name="import-preview"),
    path(_IMPORT + "report.jsonl", imports.import_report, name="import-report"),
    path(_IMPORT + "cancel/", imports.import_cancel, name="import-cancel"),
    path("p/<slug:slug>/composites/", composites.composite_list, name="composite-list"),
    path("p/<slug:slug>/dialogues/<str:public_id>/play/", plays.dialogue_play, name="dialogue-play"),
    path("p/<slug:slug>/dialogues/<str:public_id>/answers/", answers.dialogue_answers, name="dialogue-answers"),
    path("work/<str:slot>/play/", plays.workspace_play, name="workspace-play"),
    path("p/<slug:slug>/releases/", releases.release_list, name="release-list"),
    path("p/<slug:slug>/releases/settings/", releases.release_settings, name="release-settings"),
    path(_RELEASE, releases.release_detail, name="release-detail"),
    path(_RELEASE + "archive.zip", releases.release_download, name="release-download"),
    path(_RELEASE + "diff/", release_differences.release_diff, name="release-diff"),
    path(_RELEASE + "diff.json", release_differences.release_diff_file, {"form": "json"}, name="release-diff-json"),
    path(_RELEASE + "diff.html", release_differences.release_diff_file, {"form": "html"}, name="release-diff-html"),
    path(_RELEASE + "scores/", runs.score_board, name="score-board"),
    path(_RELEASE + "scores/share/", shared_scores.score_board_share, name="score-board-share"),
    path("scores/<str:token>/", shared_scores.shared_scores, name="shared-scores"),
    path("scores/<str:token>/table.svg", shared_scores.shared_table, name="shared-table"),
    path("scores/<str:token>/badge.svg", shared_scores.shared_badge, name="shared-badge"),
    path(_RELEASE + "scores/recount/", runs.score_board_recount, name="score-board-recount"),
    path(_RELEASE + "entries/", suspects.entry_list, name="entry-list"),
    path(_RELEASE + "entries/<str:key>/", suspects.entry_detail, name="entry-detail"),
    path(_RELEASE + "scores.<str:form>", board_files.score_board_file, name="score-board-file"),
    path("p/<slug:slug>/predictions/<str:public_id>/", runs.prediction_file, name="prediction-file"),
    path("p/<slug:slug>/runs/compare/", runs.run_compare, name="run-compare"),
    path("p/<slug:slug>/runs/compare-with/", runs.run_compare_with, name="run-compare-with"),
    path(_RUN, runs.run_detail, name="run"),
    path(_RUN + "entries/<str:key>/", runs.run_entry, name="run-entry"),
    path("p/<slug:slug>/endpoints/", inference.endpoint_list, name="endpoint-list"),
    path("p/<slug:slug>/endpoints/<str:public_id>/", inference.endpoint_change, name="endpoint-change"),
    path(_RELEASE + "run-model/", inference.inference_start, name="inference-start"),
    path("p/<slug:slug>/inferences/<str:public_id>/", inference.inference_detail, name="inference"),
    path(_RELEASE + "baseline/", baselines.baseline_start, name="baseline-start"),
    path("p/<slug:slug>/baselines/<str:public_id>/", baselines.baseline, name="baseline"),
    path("p/<slug:slug>/jobs/", jobs.job_list, name="job-list"),
]
