"""Pages for review work."""

from django.urls import path

from reviews.views import (
    assignments,
    comments,
    dialogues,
    examples,
    feedback,
    gold,
    history,
    outdated,
    project,
    toolsets,
)
from reviews.views.adjudication import disputes, review_sessions
from reviews.views.protocol import pages as protocol
from reviews.views.statistics import pages as statistics
from reviews.views.statistics import samples
from reviews.views.workspace import decision_tree, graph, replays, runs, submission, validators
from reviews.views.workspace import page as workspace

_WORK = "work/<str:slot>/"
_P = "p/<slug:slug>/"
_DIALOGUE = _P + "dialogues/<str:public_id>/"

urlpatterns = [
    path("", project.home, name="home"),
    path(_P, project.project, name="project"),
    path(_P + "protocol/", protocol.protocol, name="protocol"),
    path(_P + "protocol/edit/", protocol.protocol_edit, name="protocol-edit"),
    path(_P + "protocol/changes/", protocol.protocol_changes, name="protocol-changes"),
    path(_P + "protocol/move/", protocol.protocol_move, name="protocol-move"),
    path(_P + "protocol/json/", protocol.protocol_json, name="protocol-json"),
    path(_P + "statistics/", statistics.progress, name="statistics"),
    path(_P + "statistics/accuracy/", statistics.accuracy, name="statistics-accuracy"),
    path(_P + "statistics/revisions/", statistics.revisions, name="statistics-revisions"),
    path(_P + "statistics/samples/", samples.samples, name="statistics-samples"),
    path(_P + "statistics/agreement/", statistics.agreement, name="statistics-agreement"),
    path(_P + "statistics/people/<str:public_id>/", statistics.person, name="statistics-person"),
    path(_P + "assignments/", assignments.assignment_list, name="assignment-list"),
    path(_P + "assignments/plan/", assignments.assignment_plan, name="assignment-plan"),
    path(_P + "assignments/pause/", assignments.assignment_pause, name="assignment-pause"),
    path(_P + "assignments/rules/", assignments.assignment_rules, name="assignment-rules"),
    path(_P + "assignments/plans/<str:public_id>/", assignments.assignment_plan_detail, name="assignment-plan-detail"),
    path(_P + "assignments/pauses/<str:public_id>/end/", assignments.assignment_resume, name="assignment-resume"),
    path(_P + "draw/", project.draw, name="draw"),
    path(_P + "feedback/", feedback.feedback_list, name="feedback-list"),
    path(_P + "gold/", gold.gold_list, name="gold-list"),
    path(_P + "gold/rate/", gold.gold_rate, name="gold-rate"),
    path(_P + "gold/new/", gold.gold_new, name="gold-new"),
    path(_P + "gold/items/<str:public_id>/", gold.gold_item, name="gold-item"),
    path(_P + "gold/items/<str:public_id>/retire/", gold.gold_retire, name="gold-retire"),
    path(_P + "guideline/outdated/", outdated.outdated_work, name="guideline-outdated"),
    path(_P + "toolsets/", toolsets.toolset_list, name="toolset-list"),
    path(_P + "toolsets/<str:public_id>/", toolsets.toolset_detail, name="toolset"),
    path(_P + "history/", history.history_list, name="history-list"),
    path(_P + "history/events.jsonl", history.history_export, name="history-export"),
    path(_P + "next/", workspace.work_next, name="work-next"),
    path(_P + "dialogues/", dialogues.dialogue_list, name="dialogue-list"),
    path(_DIALOGUE, dialogues.dialogue_detail, name="dialogue"),
    path(_DIALOGUE + "comments/", comments.dialogue_comment, name="dialogue-comment"),
    path(_DIALOGUE + "comments/<str:comment>/", comments.comment_resolve, name="comment-resolve"),
    path(_DIALOGUE + "variant/", dialogues.match_variant, name="variant-match"),
    path(_DIALOGUE + "changes/", dialogues.revision_diff, name="revision-diff"),
    path(_DIALOGUE + "tasks/<str:task>/paths/", decision_tree.decision_tree, name="decision-tree"),
    path(_DIALOGUE + "validators/<str:constraint>/", validators.validator, name="validator"),
    path(_DIALOGUE + "replay/", replays.dialogue_replay, name="dialogue-replay"),
    path(_DIALOGUE + "run/", runs.dialogue_run, name="dialogue-run"),
    path(_DIALOGUE + "replays/<str:replay>/", replays.replay, name="replay"),
    path(_DIALOGUE + "example/", examples.mark, name="example-mark"),
    path(_P + "review-sessions/", review_sessions.review_session_list, name="review-session-list"),
    path(_P + "review-sessions/<str:round>/", review_sessions.session, name="review-session"),
    path(_P + "examples/", examples.example_list, name="example-list"),
    path(_P + "examples/<str:public_id>/", examples.example, name="example"),
    path(_P + "examples/<str:public_id>/withdraw/", examples.withdraw, name="example-withdraw"),
    path(_WORK, workspace.workspace, name="workspace"),
    path(_WORK + "tasks/<str:task>/paths/", decision_tree.workspace_decision_tree, name="workspace-decision-tree"),
    path(_WORK + "validators/<str:constraint>/", validators.workspace_validator, name="workspace-validator"),
    path(_WORK + "replay/", replays.workspace_replay, name="workspace-replay"),
    path(_WORK + "run/", runs.workspace_run, name="workspace-run"),
    path(_WORK + "look/", graph.look, name="workspace-look"),
    path(_WORK + "edit/", workspace.edit, name="workspace-edit"),
    path(_WORK + "undo/", workspace.history, {"action": "undo"}, name="workspace-undo"),
    path(_WORK + "redo/", workspace.history, {"action": "redo"}, name="workspace-redo"),
    path(_WORK + "reset/", workspace.history, {"action": "reset"}, name="workspace-reset"),
    path(_WORK + "heartbeat/", workspace.heartbeat, name="workspace-heartbeat"),
    path(_WORK + "release/", workspace.leave, {"action": "release"}, name="workspace-release"),
    path(_WORK + "skip/", workspace.leave, {"action": "skip"}, name="workspace-skip"),
    path(_WORK + "waive/", workspace.waive, name="workspace-waive"),
    path(_WORK + "comment/", workspace.comment, name="workspace-comment"),
    path(_WORK + "form/", submission.review_form, name="workspace-form"),
    path(_WORK + "submit/", submission.submit, name="workspace-submit"),
    path(_WORK + "settle/", disputes.settle, name="workspace-settle"),
    path(_WORK + "settle/keep/", disputes.keep, name="workspace-settle-keep"),
    path(_WORK + "merge/", submission.merge, name="workspace-merge"),
]
