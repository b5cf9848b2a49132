"""Pages for review work."""

from django.urls import path

from reviews.views import assignments, comments, dialogues, examples, feedback, gold, history, outdated, project
from reviews.views.adjudication import disputes, review_sessions
from reviews.views.protocol import pages as protocol
from reviews.views.statistics import pages as statistics
from reviews.views.statistics import samples
from reviews.views.workspace import decision_tree, graph, replays, submission, validators
from reviews.views.workspace import page as workspace

_WORK = "work/<str:slot>/"

urlpatterns = [
    path("", project.home, name="home"),
    path("p/<slug:slug>/", project.project, name="project"),
    path("p/<slug:slug>/protocol/", protocol.protocol, name="protocol"),
    path("p/<slug:slug>/protocol/edit/", protocol.protocol_edit, name="protocol-edit"),
    path("p/<slug:slug>/protocol/changes/", protocol.protocol_changes, name="protocol-changes"),
    path("p/<slug:slug>/protocol/move/", protocol.protocol_move, name="protocol-move"),
    path("p/<slug:slug>/protocol/json/", protocol.protocol_json, name="protocol-json"),
    path("p/<slug:slug>/statistics/", statistics.progress, name="statistics"),
    path("p/<slug:slug>/statistics/accuracy/", statistics.accuracy, name="statistics-accuracy"),
    path("p/<slug:slug>/statistics/revisions/", statistics.revisions, name="statistics-revisions"),
    path("p/<slug:slug>/statistics/samples/", samples.samples, name="statistics-samples"),
    path("p/<slug:slug>/statistics/agreement/", statistics.agreement, name="statistics-agreement"),
    path("p/<slug:slug>/statistics/people/<str:public_id>/", statistics.person, name="statistics-person"),
    path("p/<slug:slug>/assignments/", assignments.assignment_list, name="assignment-list"),
    path("p/<slug:slug>/assignments/plan/", assignments.assignment_plan, name="assignment-plan"),
    path("p/<slug:slug>/assignments/pause/", assignments.assignment_pause, name="assignment-pause"),
    path("p/<slug:slug>/assignments/rules/", assignments.assignment_rules, name="assignment-rules"),
    path(
        "p/<slug:slug>/assignments/plans/<str:public_id>/",
        assignments.assignment_plan_detail,
        name="assignment-plan-detail",
    ),
    path(
        "p/<slug:slug>/assignments/pauses/<str:public_id>/end/", assignments.assignment_resume, name="assignment-resume"
    ),
    path("p/<slug:slug>/draw/", project.draw, name="draw"),
    path("p/<slug:slug>/feedback/", feedback.feedback_list, name="feedback-list"),
    path("p/<slug:slug>/gold/", gold.gold_list, name="gold-list"),
    path("p/<slug:slug>/gold/rate/", gold.gold_rate, name="gold-rate"),
    path("p/<slug:slug>/gold/new/", gold.gold_new, name="gold-new"),
    path("p/<slug:slug>/gold/items/<str:public_id>/", gold.gold_item, name="gold-item"),
    path("p/<slug:slug>/gold/items/<str:public_id>/retire/", gold.gold_retire, name="gold-retire"),
    path("p/<slug:slug>/guideline/outdated/", outdated.outdated_work, name="guideline-outdated"),
    path("p/<slug:slug>/history/", history.history_list, name="history-list"),
    path("p/<slug:slug>/history/events.jsonl", history.history_export, name="history-export"),
    path("p/<slug:slug>/next/", workspace.work_next, name="work-next"),
    path("p/<slug:slug>/dialogues/", dialogues.dialogue_list, name="dialogue-list"),
    path("p/<slug:slug>/dialogues/<str:public_id>/", dialogues.dialogue_detail, name="dialogue"),
    path("p/<slug:slug>/dialogues/<str:public_id>/comments/", comments.dialogue_comment, name="dialogue-comment"),
    path(
        "p/<slug:slug>/dialogues/<str:public_id>/comments/<str:comment>/",
        comments.comment_resolve,
        name="comment-resolve",
    ),
    path("p/<slug:slug>/dialogues/<str:public_id>/variant/", dialogues.match_variant, name="variant-match"),
    path("p/<slug:slug>/dialogues/<str:public_id>/changes/", dialogues.revision_diff, name="revision-diff"),
    path(
        "p/<slug:slug>/dialogues/<str:public_id>/tasks/<str:task>/paths/",
        decision_tree.decision_tree,
        name="decision-tree",
    ),
    path(
        "p/<slug:slug>/dialogues/<str:public_id>/validators/<str:constraint>/", validators.validator, name="validator"
    ),
    path("p/<slug:slug>/dialogues/<str:public_id>/replay/", replays.dialogue_replay, name="dialogue-replay"),
    path("p/<slug:slug>/dialogues/<str:public_id>/replays/<str:replay>/", replays.replay, name="replay"),
    path("p/<slug:slug>/dialogues/<str:public_id>/example/", examples.mark, name="example-mark"),
    path("p/<slug:slug>/review-sessions/", review_sessions.review_session_list, name="review-session-list"),
    path("p/<slug:slug>/review-sessions/<str:round>/", review_sessions.session, name="review-session"),
    path("p/<slug:slug>/examples/", examples.example_list, name="example-list"),
    path("p/<slug:slug>/examples/<str:public_id>/", examples.example, name="example"),
    path("p/<slug:slug>/examples/<str:public_id>/withdraw/", examples.withdraw, name="example-withdraw"),
    path(_WORK, workspace.workspace, name="workspace"),
    path(_WORK + "tasks/<str:task>/paths/", decision_tree.workspace_decision_tree, name="workspace-decision-tree"),
    path(_WORK + "validators/<str:constraint>/", validators.workspace_validator, name="workspace-validator"),
    path(_WORK + "replay/", replays.workspace_replay, name="workspace-replay"),
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
