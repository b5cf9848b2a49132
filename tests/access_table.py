"""The expected status of every address for everybody; ``tests/test_access_matrix.py`` checks it."""

from typing import Any

#: Columns of each half of the table. Deactivated people get what anonymous visitors get.
VISITORS = ("anonymous", "outsider", "neighbour", "annotator", "colleague", "senior", "administrator")

#: ``in``: sent to sign in. The annotator holds the item; the neighbour administers another project.
_TABLE = """
                                      GET                           POST
                                      ano out nei ann col sen adm   ano out nei ann col sen adm
api-assignment-list                   401 404 404 403 403 403 200   401 405 405 405 405 405 405
api-assignment-plan                   401 404 404 403 403 403 200   401 404 404 403 403 403 200
api-assignment-plan-list              401 405 405 405 405 405 405   401 404 404 403 403 403 201
api-assignment-plan-undo              401 405 405 405 405 405 405   401 404 404 403 403 403 409
api-assignment-rules                  401 404 404 403 403 403 200   401 405 405 405 405 405 405
api-baseline-list                     401 404 404 403 403 403 200   401 404 404 403 403 403 202
api-claim                             401 405 405 405 405 405 405   401 404 404 201 201 204 204
api-comment-edit                      401 405 405 405 405 405 405   401 404 404 403 403 200 403
api-comment-list                      401 404 404 200 200 200 200   401 404 404 201 201 201 201
api-comment-reopen                    401 405 405 405 405 405 405   401 404 404 200 200 200 200
api-comment-resolve                   401 405 405 405 405 405 405   401 404 404 200 200 200 200
api-compose                           401 404 404 403 403 403 200   401 404 404 403 403 403 400
api-coverage                          401 404 404 200 200 200 200   401 404 404 403 403 403 200
api-construct-cases                   401 405 405 405 405 405 405   401 404 404 403 403 403 400
api-dialogue                          401 404 404 200 200 200 200   401 405 405 405 405 405 405
api-dialogue-answers                  401 404 404 404 404 404 404   401 405 405 405 405 405 405
api-dialogue-count                    401 404 404 200 200 200 200   401 405 405 405 405 405 405
api-dialogue-export                   401 404 404 200 200 200 200   401 405 405 405 405 405 405
api-dialogue-list                     401 404 404 200 200 200 200   401 405 405 405 405 405 405
api-dialogue-statistics               401 404 404 200 200 200 200   401 404 404 202 202 202 202
api-dialogue-tags                     401 405 405 405 405 405 405   401 404 404 403 403 200 200
api-docs                              200 200 200 200 200 200 200   405 405 405 405 405 405 405
api-draw                              401 404 404 403 403 200 200   401 405 405 405 405 405 405
api-draw-check                        401 404 404 403 403 200 200   401 405 405 405 405 405 405
api-draw-list                         401 404 404 403 403 200 200   401 404 404 403 403 403 204
api-draw-pools                        401 404 404 403 403 200 200   401 405 405 405 405 405 405
api-draw-population                   401 404 404 403 403 200 200   401 405 405 405 405 405 405
api-endpoint                          401 404 404 403 403 403 200   401 405 405 405 405 405 405
api-endpoint-list                     401 404 404 403 403 403 200   401 404 404 403 403 403 201
api-entry                             401 404 404 403 403 200 200   401 405 405 405 405 405 405
api-entry-list                        401 404 404 403 403 200 200   401 405 405 405 405 405 405
api-entry-send-back                   401 405 405 405 405 405 405   401 404 404 403 403 403 409
api-errata-link                       401 404 404 403 403 403 200   401 404 404 403 403 403 200
api-errata-log                        401 404 404 200 200 200 200   401 405 405 405 405 405 405
api-erratum-add                       401 405 405 405 405 405 405   401 404 404 403 403 403 422
api-erratum-confirm                   401 405 405 405 405 405 405   401 404 404 403 403 403 200
api-erratum-decline                   401 405 405 405 405 405 405   401 404 404 403 403 403 200
api-erratum-report                    401 404 404 403 403 200 200   401 405 405 405 405 405 405
api-erratum-report-list               401 404 404 403 403 200 200   401 404 404 422 422 422 422
api-example                           401 404 404 200 200 200 200   401 405 405 405 405 405 405
api-example-list                      401 404 404 200 200 200 200   401 404 404 403 403 409 409
api-example-withdraw                  401 405 405 405 405 405 405   401 404 404 403 403 200 200
api-feedback-answer                   401 405 405 405 405 405 405   401 404 404 403 404 404 409
api-feedback-dispute                  401 405 405 405 405 405 405   401 404 404 201 404 404 403
api-feedback-list                     401 404 404 200 200 200 200   401 405 405 405 405 405 405
api-feedback-reply                    401 405 405 405 405 405 405   401 404 404 201 404 404 201
api-field-list                        401 404 404 200 200 200 200   401 404 404 403 403 403 200
api-goal                              401 404 404 200 200 200 200   401 404 404 200 200 200 200
api-goal-list                         401 404 404 403 403 200 200   401 404 404 403 403 403 200
api-gold                              401 404 404 403 403 200 200   401 405 405 405 405 405 405
api-gold-list                         401 404 404 403 403 200 200   401 404 404 403 403 403 409
api-gold-rates                        401 404 404 403 403 200 200   401 404 404 403 403 403 200
api-gold-retire                       401 405 405 405 405 405 405   401 404 404 403 403 403 200
api-guideline                         401 404 404 200 200 200 200   401 405 405 405 405 405 405
api-guideline-acceptance-list         401 404 404 403 403 403 200   401 404 404 201 201 201 201
api-guideline-acceptance-setting      401 405 405 405 405 405 405   401 404 404 403 403 403 200
api-guideline-version                 401 404 404 200 200 200 200   401 405 405 405 405 405 405
api-guideline-version-list            401 404 404 200 200 200 200   401 404 404 403 403 403 201
api-history-check                     401 404 404 403 403 403 404   401 404 404 403 403 403 202
api-history-file                      401 404 404 403 403 403 200   401 405 405 405 405 405 405
api-history-list                      401 404 404 403 403 200 200   401 405 405 405 405 405 405
api-import                            401 404 404 403 403 403 200   401 405 405 405 405 405 405
api-import-cancel                     401 405 405 405 405 405 405   401 404 404 403 403 403 409
api-import-confirm                    401 405 405 405 405 405 405   401 404 404 403 403 403 400
api-import-list                       401 404 404 403 403 403 200   401 404 404 403 403 403 400
api-import-repeat                     401 405 405 405 405 405 405   401 404 404 403 403 403 409
api-import-report                     401 404 404 403 403 403 200   401 405 405 405 405 405 405
api-inference                         401 404 404 403 403 403 200   401 405 405 405 405 405 405
api-inference-cancel                  401 405 405 405 405 405 405   401 404 404 403 403 403 409
api-inference-continue                401 405 405 405 405 405 405   401 404 404 403 403 403 202
api-inference-list                    401 404 404 403 403 403 200   401 404 404 403 403 403 202
api-invitation-list                   401 404 404 403 403 403 200   401 404 404 403 403 403 201
api-invitation-revoke                 401 405 405 405 405 405 405   401 404 404 403 403 403 204
api-job                               401 404 404 403 403 403 200   401 405 405 405 405 405 405
api-job-cancel                        401 405 405 405 405 405 405   401 404 404 403 403 403 409
api-job-list                          401 404 404 403 403 403 200   401 405 405 405 405 405 405
api-list-export                       401 400 400 400 400 400 400   401 405 405 405 405 405 405
api-member                            401 404 404 200 200 200 200   401 405 405 405 405 405 405
api-member-abilities                  401 404 404 403 403 403 200   401 405 405 405 405 405 405
api-member-list                       401 404 404 200 200 200 200   401 405 405 405 405 405 405
api-member-role                       401 405 405 405 405 405 405   401 405 405 405 405 405 405
api-model-run                         401 404 404 403 403 200 200   401 405 405 405 405 405 405
api-model-run-again                   401 405 405 405 405 405 405   401 404 404 403 403 403 409
api-model-run-compare                 401 404 404 403 403 404 404   401 405 405 405 405 405 405
api-model-run-compare-entry-list      401 404 404 403 403 404 404   401 405 405 405 405 405 405
api-model-run-entry                   401 404 404 403 403 200 200   401 405 405 405 405 405 405
api-model-run-entry-list              401 404 404 403 403 200 200   401 405 405 405 405 405 405
api-model-run-list                    401 404 404 403 403 200 200   401 405 405 405 405 405 405
api-notice-list                       401 200 200 200 200 200 200   401 405 405 405 405 405 405
api-notice-read                       401 405 405 405 405 405 405   401 404 404 200 404 404 404
api-notice-settings                   401 200 200 200 200 200 200   401 405 405 405 405 405 405
api-outdated                          401 404 404 403 403 403 200   401 405 405 405 405 405 405
api-outdated-list                     401 404 404 403 403 403 200   401 404 404 403 403 403 201
api-outdated-preview                  401 405 405 405 405 405 405   401 404 404 403 403 403 200
api-outdated-send-back                401 405 405 405 405 405 405   401 404 404 403 403 403 202
api-outdated-withdraw                 401 405 405 405 405 405 405   401 404 404 403 403 403 200
api-pause-end                         401 405 405 405 405 405 405   401 404 404 403 403 403 200
api-pause-list                        401 404 404 403 403 403 200   401 404 404 403 403 403 201
api-play                              401 404 404 404 404 404 404   401 405 405 405 405 405 405
api-play-list                         401 405 405 405 405 405 405   401 404 404 404 404 404 404
api-prediction                        401 404 404 403 403 403 200   401 405 405 405 405 405 405
api-prediction-list                   401 404 404 403 403 403 200   401 404 404 403 403 403 400
api-project                           401 404 404 200 200 200 200   401 405 405 405 405 405 405
api-project-archive                   401 405 405 405 405 405 405   401 404 404 403 403 403 200
api-project-deletion                  401 404 404 403 403 403 404   401 404 404 403 403 403 409
api-project-export                    401 404 404 403 403 403 404   401 404 404 403 403 403 202
api-project-export-archive            401 404 404 403 403 403 404   401 405 405 405 405 405 405
api-project-list                      401 200 200 200 200 200 200   401 403 201 403 403 403 201
api-project-restore                   401 405 405 405 405 405 405   401 404 404 403 403 403 200
api-project-settings                  401 404 404 403 403 403 200   401 405 405 405 405 405 405
api-project-status                    401 404 404 200 200 200 200   401 405 405 405 405 405 405
api-protocol                          401 404 404 200 200 200 200   401 405 405 405 405 405 405
api-protocol-check                    401 405 405 405 405 405 405   401 404 404 403 403 403 200
api-protocol-move                     401 404 404 403 403 403 200   401 404 404 403 403 403 409
api-protocol-version                  401 404 404 200 200 200 200   401 405 405 405 405 405 405
api-protocol-version-list             401 404 404 200 200 200 200   401 404 404 403 403 403 422
api-release                           401 404 404 200 200 200 200   401 405 405 405 405 405 405
api-release-archive                   401 404 404 200 200 200 200   401 405 405 405 405 405 405
api-release-diff                      401 404 404 400 400 400 400   401 405 405 405 405 405 405
api-release-left-out                  401 404 404 403 403 200 200   401 405 405 405 405 405 405
api-release-list                      401 404 404 200 200 200 200   401 404 404 403 403 403 202
api-release-settings                  401 404 404 403 403 403 200   401 404 404 403 403 403 200
api-release-statistics                401 404 404 200 200 200 200   401 405 405 405 405 405 405
api-similarity                        401 404 404 403 403 403 200   401 404 404 403 403 403 200
api-replay                            401 404 404 200 200 200 200   401 405 405 405 405 405 405
api-replay-list                       401 405 405 405 405 405 405   401 404 404 422 422 422 422
api-review-list                       401 404 404 200 200 200 200   401 405 405 405 405 405 405
api-review-session                    401 404 404 403 403 200 200   401 404 404 403 403 200 200
api-review-session-claim              401 405 405 405 405 405 405   401 404 404 403 403 409 409
api-review-session-list               401 404 404 403 403 200 200   401 405 405 405 405 405 405
api-revision                          401 404 404 200 200 200 200   401 405 405 405 405 405 405
api-revision-diff                     401 404 404 200 200 200 200   401 405 405 405 405 405 405
api-revision-list                     401 404 404 200 200 200 200   401 405 405 405 405 405 405
api-run                               401 404 404 404 404 404 404   401 404 404 422 422 422 422
api-saved-view                        401 404 404 200 200 200 200   401 405 405 405 405 405 405
api-saved-view-list                   401 404 404 200 200 200 200   401 404 404 403 403 403 201
api-schema                            200 200 200 200 200 200 200   405 405 405 405 405 405 405
api-score-board                       401 404 404 403 403 200 200   401 405 405 405 405 405 405
api-score-board-file                  401 404 404 403 403 200 200   401 405 405 405 405 405 405
api-score-board-link                  401 404 404 403 403 403 200   401 404 404 403 403 403 200
api-score-board-recount               401 405 405 405 405 405 405   401 404 404 403 403 403 202
api-session-decision-list             401 404 404 403 403 200 200   401 404 404 403 403 409 409
api-statistics-accuracy               401 404 404 200 200 200 200   401 405 405 405 405 405 405
api-statistics-agreement              401 404 404 400 400 400 400   401 405 405 405 405 405 405
api-statistics-person                 401 404 404 404 200 200 200   401 405 405 405 405 405 405
api-statistics-progress               401 404 404 200 200 200 200   401 405 405 405 405 405 405
api-statistics-revisions              401 404 404 200 200 200 200   401 405 405 405 405 405 405
api-statistics-fields                 401 404 404 403 403 200 200   401 405 405 405 405 405 405
api-statistics-suggestions            401 404 404 403 403 200 200   401 405 405 405 405 405 405
api-suggestion-list                   401 405 405 405 405 405 405   401 404 404 403 403 403 400
api-toolset                           401 404 404 200 200 200 200   401 404 404 403 403 403 409
api-toolset-list                      401 404 404 200 200 200 200   401 404 404 403 403 403 201
api-toolset-statistics                401 404 404 200 200 200 200   401 405 405 405 405 405 405
api-toolset-review                    401 404 404 403 403 403 200   401 404 404 403 403 403 409
api-toolset-preview                   401 405 405 405 405 405 405   401 404 404 403 403 403 200
api-training                          401 404 404 200 200 200 200   401 404 404 403 403 403 200
api-training-again                    401 405 405 405 405 405 405   401 404 404 409 409 409 409
api-training-people                   401 404 404 403 403 200 200   401 405 405 405 405 405 405
api-training-person                   401 404 404 403 200 200 200   401 404 404 403 403 403 200
api-trial                             401 404 404 200 404 404 404   401 405 405 405 405 405 405
api-trial-list                        401 405 405 405 405 405 405   401 404 404 422 422 422 422
api-validator                         401 404 404 404 404 404 404   401 405 405 405 405 405 405
api-variant-make                      401 405 405 405 405 405 405   401 404 404 403 403 403 201
api-variant-list                      401 404 404 200 200 200 200   401 404 404 403 403 400 400
api-webhook                           401 404 404 403 403 403 200   401 405 405 405 405 405 405
api-webhook-again                     401 405 405 405 405 405 405   401 404 404 403 403 403 202
api-webhook-delivery                  401 404 404 403 403 403 200   401 405 405 405 405 405 405
api-webhook-delivery-list             401 404 404 403 403 403 200   401 405 405 405 405 405 405
api-webhook-list                      401 404 404 403 403 403 200   401 404 404 403 403 403 201
api-webhook-rotate                    401 405 405 405 405 405 405   401 404 404 403 403 403 200
api-webhook-test                      401 405 405 405 405 405 405   401 404 404 403 403 403 202
api-work-heartbeat                    401 405 405 405 405 405 405   401 404 404 200 404 404 404
api-work-release                      401 405 405 405 405 405 405   401 404 404 204 404 404 404
api-work-skip                         401 405 405 405 405 405 405   401 404 404 204 404 404 404
api-work-take-back                    401 405 405 405 405 405 405   401 404 404 200 404 404 404
api-work-submit                       401 405 405 405 405 405 405   401 404 404 201 404 404 404
api-work-unwaive                      401 405 405 405 405 405 405   401 404 404 204 404 404 404
api-work-waive                        401 405 405 405 405 405 405   401 404 404 409 404 404 404
comment-edit                          in  404 404 405 405 405 405   in  404 404 403 403 302 403
comment-resolve                       in  404 404 405 405 405 405   in  404 404 302 302 302 302
assignment-list                       in  404 404 403 403 403 200   in  404 404 405 405 405 405
assignment-pause                      in  404 404 405 405 405 405   in  404 404 403 403 403 302
assignment-plan                       in  404 404 405 405 405 405   in  404 404 403 403 403 302
assignment-plan-detail                in  404 404 403 403 403 200   in  404 404 403 403 403 302
assignment-plan-undo                  in  404 404 405 405 405 405   in  404 404 403 403 403 409
assignment-resume                     in  404 404 405 405 405 405   in  404 404 403 403 403 302
assignment-rules                      in  404 404 405 405 405 405   in  404 404 403 403 403 302
coverage                              in  404 404 200 200 200 200   in  404 404 403 403 403 302
similar-list                          in  404 404 403 403 200 200   in  404 404 405 405 405 405
similar-settings                      in  404 404 403 403 403 200   in  404 404 403 403 403 302
similar-group                         in  404 404 403 403 200 200   in  404 404 405 405 405 405
composite-list                        in  404 404 403 403 403 200   in  404 404 403 403 403 200
construct-cases                       in  404 404 403 403 403 200   in  404 404 403 403 403 200
decision-tree                         in  404 404 200 200 200 200   in  404 404 422 422 422 422
dialogue                              in  404 404 200 200 200 200   in  404 404 405 405 405 405
dialogue-comment                      in  404 404 405 405 405 405   in  404 404 302 302 302 302
guideline-acceptance                  in  404 404 200 200 200 200   in  404 404 302 302 302 302
guideline-acceptance-setting          in  404 404 405 405 405 405   in  404 404 403 403 403 302
saved-view                            in  404 404 302 302 302 302   in  404 404 403 403 403 302
saved-view-list                       in  404 404 200 200 200 200   in  404 404 422 422 422 422
toolset-review                        in  404 404 403 403 403 200   in  404 404 403 403 403 422
toolset-send                          in  404 404 405 405 405 405   in  404 404 403 403 403 409
toolset                               in  404 404 200 200 200 200   in  404 404 403 403 403 422
toolset-list                          in  404 404 200 200 200 200   in  404 404 405 405 405 405
toolset-categories                    in  404 404 403 403 403 200   in  404 404 403 403 403 302
toolset-choose                        in  404 404 403 403 403 200   in  404 404 405 405 405 405
toolset-details                       in  404 404 403 403 403 200   in  404 404 403 403 403 302
toolset-import                        in  404 404 403 403 403 200   in  404 404 403 403 403 302
toolset-statistics                    in  404 404 200 200 200 200   in  404 404 405 405 405 405
tour                                  in  405 405 405 405 405 405   in  204 204 204 204 204 204
training                              in  404 404 200 200 200 200   in  404 404 405 405 405 405
training-again                        in  404 404 405 405 405 405   in  404 404 409 409 409 409
training-item                         in  404 404 405 405 405 405   in  404 404 403 403 403 302
training-new                          in  404 404 403 403 403 200   in  404 404 403 403 403 422
training-person                       in  404 404 403 200 200 200   in  404 404 403 403 403 302
training-result                       in  404 404 200 404 200 200   in  404 404 405 405 405 405
training-settings                     in  404 404 405 405 405 405   in  404 404 403 403 403 302
variant                               in  404 404 404 404 404 404   in  404 404 405 405 405 405
variant-make                          in  404 404 405 405 405 405   in  404 404 403 403 403 302
variant-match                         in  404 404 405 405 405 405   in  404 404 403 403 404 404
dialogue-export                       in  404 404 200 200 200 200   in  404 404 405 405 405 405
dialogue-list                         in  404 404 200 200 200 200   in  404 404 405 405 405 405
dialogue-plan                         in  404 404 405 405 405 405   in  404 404 403 403 403 302
dialogue-settle                       in  404 404 405 405 405 405   in  404 404 403 403 302 302
dialogue-statistics                   in  404 404 200 200 200 200   in  404 404 302 302 302 302
dialogue-tags                         in  404 404 405 405 405 405   in  404 404 403 403 302 302
dialogue-replay                       in  404 404 404 404 404 404   in  404 404 404 404 404 404
dialogue-play                         in  404 404 404 404 404 404   in  404 404 404 404 404 404
dialogue-run                          in  404 404 404 404 404 404   in  404 404 404 404 404 404
draw                                  in  404 404 405 405 405 405   in  404 404 403 403 403 302
errata-download                       in  404 404 200 200 200 200   in  404 404 405 405 405 405
errata-list                           in  404 404 403 403 200 200   in  404 404 405 405 405 405
errata-share                          in  404 404 405 405 405 405   in  404 404 403 403 403 302
error-report                          in  404 404 200 200 200 200   in  404 404 422 422 422 422
erratum-add                           in  404 404 403 403 403 200   in  404 404 403 403 403 422
erratum-decide                        in  404 404 403 403 200 200   in  404 404 403 403 403 302
example                               in  404 404 200 200 200 200   in  404 404 405 405 405 405
example-list                          in  404 404 200 200 200 200   in  404 404 405 405 405 405
example-mark                          in  404 404 403 403 409 409   in  404 404 403 403 409 409
example-withdraw                      in  404 404 405 405 405 405   in  404 404 403 403 302 302
daily-goal                            in  404 404 405 405 405 405   in  404 404 302 302 302 302
feedback                              in  404 404 200 404 404 200   in  404 404 405 405 405 405
feedback-answer                       in  404 404 405 405 405 405   in  404 404 403 404 404 409
feedback-dispute                      in  404 404 405 405 405 405   in  404 404 302 404 404 403
feedback-list                         in  404 404 200 200 200 200   in  404 404 405 405 405 405
gold-item                             in  404 404 403 403 200 200   in  404 404 405 405 405 405
gold-list                             in  404 404 403 403 200 200   in  404 404 405 405 405 405
gold-new                              in  404 404 403 403 403 200   in  404 404 403 403 403 422
field-change                          in  404 404 403 403 403 200   in  404 404 403 403 403 302
field-create                          in  404 404 403 403 403 200   in  404 404 403 403 403 302
field-list                            in  404 404 403 403 403 200   in  404 404 403 403 403 302
gold-rate                             in  404 404 405 405 405 405   in  404 404 403 403 403 302
gold-retire                           in  404 404 405 405 405 405   in  404 404 403 403 403 302
guideline                             in  404 404 200 200 200 200   in  404 404 405 405 405 405
guideline-edit                        in  404 404 403 403 403 200   in  404 404 403 403 403 302
guideline-outdated                    in  404 404 403 403 403 200   in  404 404 403 403 403 302
healthz                               200 200 200 200 200 200 200   405 405 405 405 405 405 405
history-export                        in  404 404 403 403 403 200   in  404 404 405 405 405 405
history-list                          in  404 404 403 403 200 200   in  404 404 403 403 403 302
home                                  in  200 200 200 200 200 200   in  405 405 405 405 405 405
generation                            in  404 404 200 200 200 200   in  404 404 422 422 422 422
generation-call                       in  404 404 200 200 200 200   in  404 404 405 405 405 405
generation-figures                    in  404 404 403 403 403 200   in  404 404 405 405 405 405
generation-list                       in  404 404 200 200 200 200   in  404 404 405 405 405 405
generation-records                    in  404 404 403 403 403 200   in  404 404 405 405 405 405
generation-start                      in  404 404 403 403 403 200   in  404 404 403 403 403 422
prompt                                in  404 404 403 403 403 200   in  404 404 403 403 403 422
prompt-list                           in  404 404 403 403 403 200   in  404 404 405 405 405 405
import-cancel                         in  404 404 405 405 405 405   in  404 404 403 403 403 409
import-detail                         in  404 404 403 403 403 200   in  404 404 403 403 403 409
import-examples                       in  404 404 403 403 403 200   in  404 404 405 405 405 405
import-list                           in  404 404 403 403 403 200   in  404 404 403 403 403 200
import-preview                        in  404 404 403 403 403 200   in  404 404 403 403 403 422
import-report                         in  404 404 403 403 403 200   in  404 404 405 405 405 405
invitation                            200 200 200 200 200 200 200   302 302 302 409 409 302 302
invitation-revoke                     in  404 404 405 405 405 405   in  404 404 403 403 403 302
invite-many                           in  404 404 403 403 403 200   in  404 404 403 403 403 200
javascript-catalog                    200 200 200 200 200 200 200   405 405 405 405 405 405 405
job-list                              in  404 404 403 403 403 200   in  404 404 403 403 403 409
member-change                         in  404 404 405 405 405 405   in  404 404 403 403 403 302
member-list                           in  404 404 200 200 200 200   in  404 404 403 403 403 200
language-settings                     in  200 200 200 200 200 200   in  302 302 302 302 302 302
notice-list                           in  200 200 200 200 200 200   in  302 302 302 302 302 302
notice-read                           in  405 405 405 405 405 405   in  404 404 302 404 404 404
key-settings                          in  200 200 200 200 200 200   in  302 302 302 302 302 302
palette                               in  200 200 200 200 200 200   in  405 405 405 405 405 405
notice-settings                       in  200 200 200 200 200 200   in  302 302 302 302 302 302
project                               in  404 404 200 200 200 200   in  404 404 405 405 405 405
project-archive                       in  404 404 403 403 200 200   in  404 404 403 403 403 302
project-create                        in  403 200 403 403 403 200   in  403 302 403 403 403 302
project-export                        in  404 404 403 403 403 404   in  404 404 405 405 405 405
project-list                          in  200 200 200 200 200 200   in  405 405 405 405 405 405
project-settings                      in  404 404 403 403 403 200   in  404 404 403 403 403 302
protocol                              in  404 404 200 200 200 200   in  404 404 403 403 403 409
protocol-changes                      in  404 404 200 200 200 200   in  404 404 405 405 405 405
protocol-edit                         in  404 404 403 403 403 200   in  404 404 403 403 403 422
protocol-json                         in  404 404 200 200 200 200   in  404 404 405 405 405 405
protocol-move                         in  404 404 403 403 403 200   in  404 404 403 403 403 302
release-diff                          in  404 404 200 200 200 200   in  404 404 405 405 405 405
release-items                         in  404 404 200 200 200 200   in  404 404 405 405 405 405
release-diff-html                     in  404 404 409 409 409 409   in  404 404 405 405 405 405
release-diff-json                     in  404 404 409 409 409 409   in  404 404 405 405 405 405
release-detail                        in  404 404 200 200 200 200   in  404 404 405 405 405 405
release-download                      in  404 404 200 200 200 200   in  404 404 405 405 405 405
release-list                          in  404 404 200 200 200 200   in  404 404 403 403 403 302
release-statistics                    in  404 404 200 200 200 200   in  404 404 405 405 405 405
release-settings                      in  404 404 403 403 403 200   in  404 404 403 403 403 302
dialogue-answers                      in  404 404 404 404 404 404   in  404 404 405 405 405 405
score-board-recount                   in  404 404 405 405 405 405   in  404 404 403 403 403 302
baseline                              in  404 404 200 404 404 404   in  404 404 200 404 404 404
baseline-start                        in  404 404 403 403 403 200   in  404 404 403 403 403 422
endpoint-change                       in  404 404 405 405 405 405   in  404 404 403 403 403 302
endpoint-list                         in  404 404 403 403 403 200   in  404 404 403 403 403 422
inference                             in  404 404 403 403 403 200   in  404 404 403 403 403 200
inference-start                       in  404 404 403 403 403 200   in  404 404 403 403 403 422
entry-detail                          in  404 404 403 403 200 200   in  404 404 403 403 403 409
entry-list                            in  404 404 403 403 200 200   in  404 404 405 405 405 405
prediction-file                       in  404 404 403 403 403 200   in  404 404 405 405 405 405
run                                   in  404 404 403 403 200 200   in  404 404 403 403 403 409
run-compare                           in  404 404 403 403 404 404   in  404 404 405 405 405 405
run-compare-with                      in  404 404 302 302 302 302   in  404 404 405 405 405 405
run-entry                             in  404 404 403 403 200 200   in  404 404 405 405 405 405
score-board                           in  404 404 403 403 200 200   in  404 404 403 403 403 422
score-board-share                     in  404 404 405 405 405 405   in  404 404 403 403 403 302
shared-badge                          200 200 200 200 200 200 200   405 405 405 405 405 405 405
shared-errata                         200 200 200 200 200 200 200   422 422 422 422 422 422 422
shared-scores                         200 200 200 200 200 200 200   405 405 405 405 405 405 405
shared-table                          200 200 200 200 200 200 200   405 405 405 405 405 405 405
score-board-file                      in  404 404 403 403 200 200   in  404 404 405 405 405 405
replay                                in  404 404 200 200 200 200   in  404 404 409 404 404 409
review-session                        in  404 404 403 403 200 200   in  404 404 403 403 302 302
review-session-list                   in  404 404 403 403 200 200   in  404 404 405 405 405 405
revision-diff                         in  404 404 200 200 200 200   in  404 404 405 405 405 405
signed-in                             200 200 200 200 200 200 200   405 405 405 405 405 405 405
statistics                            in  404 404 200 200 200 200   in  404 404 405 405 405 405
statistics-accuracy                   in  404 404 200 200 200 200   in  404 404 405 405 405 405
statistics-agreement                  in  404 404 200 200 200 200   in  404 404 405 405 405 405
statistics-person                     in  404 404 404 200 200 200   in  404 404 405 405 405 405
statistics-revisions                  in  404 404 200 200 200 200   in  404 404 405 405 405 405
statistics-sensitivity                in  404 404 403 403 200 200   in  404 404 403 403 403 302
statistics-samples                    in  404 404 200 200 200 200   in  404 404 405 405 405 405
feedback-reply                        in  404 404 405 405 405 405   in  404 404 302 404 404 302
statistics-team                       in  404 404 403 403 200 200   in  404 404 405 405 405 405
statistics-team-goals                 in  404 404 405 405 405 405   in  404 404 403 403 403 302
statistics-team-reassign              in  404 404 405 405 405 405   in  404 404 403 403 403 302
statistics-fields                     in  404 404 403 403 200 200   in  404 404 405 405 405 405
statistics-suggestions                in  404 404 403 403 200 200   in  404 404 405 405 405 405
theme                                 405 405 405 405 405 405 405   302 302 302 302 302 302 302
token-list                            in  200 200 200 200 200 200   in  200 200 200 200 200 200
token-revoke                          in  405 405 405 405 405 405   in  404 404 302 404 404 404
validator                             in  404 404 404 404 404 404   in  404 404 405 405 405 405
webhook                               in  404 404 403 403 403 200   in  404 404 403 403 403 302
webhook-delivery                      in  404 404 403 403 403 200   in  404 404 403 403 403 302
webhook-list                          in  404 404 403 403 403 200   in  404 404 403 403 403 200
work-next                             in  404 404 405 405 405 405   in  404 404 302 302 302 302
workspace                             in  404 404 200 404 404 404   in  405 405 405 405 405 405
workspace-comment                     in  405 405 405 405 405 405   in  404 404 302 404 404 404
workspace-comment-change              in  405 405 405 405 405 405   in  404 404 302 404 404 404
workspace-decision-tree               in  404 404 200 404 404 404   in  404 404 422 404 404 404
workspace-edit                        in  405 405 405 405 405 405   in  404 404 302 404 404 404
workspace-form                        in  405 405 405 405 405 405   in  404 404 204 404 404 404
workspace-heartbeat                   in  405 405 405 405 405 405   in  404 404 204 404 404 404
workspace-look                        in  404 404 302 404 404 404   in  405 405 405 405 405 405
workspace-merge                       in  404 404 302 404 404 404   in  404 404 302 404 404 404
workspace-redo                        in  405 405 405 405 405 405   in  404 404 409 404 404 404
workspace-release                     in  405 405 405 405 405 405   in  404 404 302 404 404 404
workspace-replay                      in  404 404 404 404 404 404   in  404 404 404 404 404 404
workspace-play                        in  404 404 404 404 404 404   in  404 404 404 404 404 404
workspace-run                         in  404 404 404 404 404 404   in  404 404 404 404 404 404
workspace-reset                       in  405 405 405 405 405 405   in  404 404 302 404 404 404
workspace-settle                      in  404 404 302 404 404 404   in  404 404 302 404 404 404
workspace-settle-keep                 in  405 405 405 405 405 405   in  404 404 409 404 404 404
workspace-skip                        in  405 405 405 405 405 405   in  404 404 302 404 404 404
workspace-take-back                   in  405 405 405 405 405 405   in  404 404 302 404 404 404
workspace-submit                      in  404 404 200 404 404 404   in  404 404 302 404 404 404
workspace-undo                        in  405 405 405 405 405 405   in  404 404 409 404 404 404
workspace-validator                   in  404 404 404 404 404 404   in  404 404 404 404 404 404
workspace-suggestion-accept           in  405 405 405 405 405 405   in  404 404 302 404 404 404
workspace-suggestion-refuse           in  405 405 405 405 405 405   in  404 404 302 404 404 404
workspace-unwaive                     in  405 405 405 405 405 405   in  404 404 302 404 404 404
workspace-waive                       in  405 405 405 405 405 405   in  404 404 409 404 404 404
account_change_password               in  302 302 302 302 302 302   in  302 302 302 302 302 302
account_inactive                      200 200 200 200 200 200 200   405 405 405 405 405 405 405
account_login                         200 302 302 302 302 302 302   200 302 302 302 302 302 302
account_logout                        302 200 200 200 200 200 200   302 302 302 302 302 302 302
account_reauthenticate                in  403 403 403 403 403 403   in  403 403 403 403 403 403
account_reset_password                200 200 200 200 200 200 200   200 200 200 200 200 200 200
account_reset_password_done           200 200 200 200 200 200 200   405 405 405 405 405 405 405
account_reset_password_from_key       200 200 200 200 200 200 200   200 200 200 200 200 200 200
account_reset_password_from_key_done  200 200 200 200 200 200 200   405 405 405 405 405 405 405
account_set_password                  in  200 200 200 200 200 200   in  200 200 200 200 200 200
account_signup                        200 302 302 302 302 302 302   200 302 302 302 302 302 302
"""

#: Links whose token is a secret, not an id: everyone who has one may read what it leads to.
SECRET_LINKS = frozenset(("shared-badge", "shared-errata", "shared-scores", "shared-table"))
#: Addresses whose values exist in every project.
IN_EVERY_PROJECT = frozenset(("prompt",))
#: Addresses that belong to no project, and the link of an invitation, whose secret is its key.
OPEN_TO_ALL = {
    "api-docs",
    "api-list-export",
    "api-notice-list",
    "api-notice-settings",
    "api-project-list",
    "api-schema",
    "healthz",
    "home",
    "invitation",
    *SECRET_LINKS,
    "javascript-catalog",
    "language-settings",
    "key-settings",
    "notice-list",
    "notice-settings",
    "palette",
    "project-create",
    "project-list",
    "signed-in",
    "theme",
    "token-list",
    "tour",
    *(line.split()[0] for line in _TABLE.splitlines() if line.startswith("account_")),
}

#: Name of the address → parameter → what fills it, where the two have different names.
PARAMETERS: dict[str, dict[str, str]] = {
    "api-assignment-plan": {"public_id": "plan"},
    "api-assignment-plan-undo": {"public_id": "plan"},
    "api-baseline-list": {"public_id": "release"},
    "api-training-person": {"public_id": "person"},
    "api-comment-edit": {"public_id": "dialogue"},
    "api-comment-list": {"public_id": "dialogue"},
    "api-feedback-answer": {"public_id": "feedback"},
    "api-feedback-dispute": {"public_id": "feedback"},
    "api-feedback-reply": {"public_id": "feedback"},
    "feedback": {"public_id": "feedback"},
    "feedback-answer": {"public_id": "feedback"},
    "feedback-dispute": {"public_id": "feedback"},
    "feedback-reply": {"public_id": "feedback"},
    "api-comment-reopen": {"public_id": "dialogue"},
    "api-comment-resolve": {"public_id": "dialogue"},
    "api-dialogue-answers": {"public_id": "dialogue"},
    "api-endpoint": {"public_id": "endpoint"},
    "api-entry": {"public_id": "release", "key": "entry"},
    "api-entry-list": {"public_id": "release"},
    "api-entry-send-back": {"public_id": "release", "key": "entry"},
    "api-errata-link": {"public_id": "release"},
    "api-erratum-add": {"public_id": "release"},
    "api-import-repeat": {"public_id": "import"},
    "api-inference": {"public_id": "inference"},
    "api-inference-cancel": {"public_id": "inference"},
    "api-inference-continue": {"public_id": "inference"},
    "api-inference-list": {"public_id": "release"},
    "api-job": {"public_id": "job"},
    "api-job-cancel": {"public_id": "job"},
    "api-model-run-again": {"public_id": "run"},
    "api-play": {"public_id": "dialogue", "play": "job"},
    "api-play-list": {"public_id": "dialogue"},
    "api-score-board": {"public_id": "release"},
    "api-score-board-file": {"public_id": "release"},
    "api-score-board-link": {"public_id": "release"},
    "api-score-board-recount": {"public_id": "release"},
    "api-dialogue-tags": {"public_id": "dialogue"},
    "similar-group": {"public_id": "dialogue"},
    "api-dialogue": {"public_id": "dialogue"},
    "api-draw": {"public_id": "draw"},
    "api-draw-check": {"public_id": "draw"},
    "api-draw-population": {"public_id": "draw"},
    "api-errata-log": {"public_id": "release"},
    "api-erratum-confirm": {"public_id": "release", "report": "erratum_report"},
    "api-erratum-decline": {"public_id": "release", "report": "erratum_report"},
    "api-erratum-report": {"public_id": "release", "report": "erratum_report"},
    "api-erratum-report-list": {"public_id": "release"},
    "api-example": {"public_id": "example"},
    "api-example-withdraw": {"public_id": "example"},
    "api-gold": {"public_id": "gold"},
    "api-gold-retire": {"public_id": "gold"},
    "api-guideline-version": {"number": "version"},
    "api-import": {"public_id": "import"},
    "api-import-cancel": {"public_id": "import"},
    "api-import-confirm": {"public_id": "import_preview"},
    "api-import-report": {"public_id": "import"},
    "api-invitation-revoke": {"public_id": "invitation"},
    "api-member": {"public_id": "person"},
    "api-member-abilities": {"public_id": "person"},
    "api-member-role": {"public_id": "person"},
    "api-model-run": {"public_id": "run"},
    "api-model-run-entry": {"public_id": "run", "key": "score"},
    "api-model-run-entry-list": {"public_id": "run"},
    "api-model-run-list": {"public_id": "release"},
    "api-notice-read": {"public_id": "notice"},
    "api-outdated": {"public_id": "outdated"},
    "api-outdated-send-back": {"public_id": "outdated"},
    "api-outdated-withdraw": {"public_id": "outdated"},
    "api-pause-end": {"public_id": "pause"},
    "api-prediction": {"public_id": "predictions"},
    "api-prediction-list": {"public_id": "release"},
    "api-protocol-version": {"number": "version"},
    "api-release": {"public_id": "release"},
    "api-release-archive": {"public_id": "release"},
    "api-release-diff": {"public_id": "release"},
    "api-release-left-out": {"public_id": "release"},
    "api-release-statistics": {"public_id": "release"},
    "api-replay": {"public_id": "dialogue"},
    "api-replay-list": {"public_id": "dialogue"},
    "api-run": {"public_id": "dialogue"},
    "api-review-list": {"public_id": "dialogue"},
    "api-revision": {"public_id": "dialogue", "revision_id": "revision"},
    "api-revision-diff": {"public_id": "dialogue", "revision_id": "revision", "other_id": "other_revision"},
    "api-revision-list": {"public_id": "dialogue"},
    "api-saved-view": {"public_id": "view"},
    "api-toolset": {"public_id": "toolset"},
    "api-toolset-preview": {"public_id": "toolset"},
    "api-trial": {"public_id": "dialogue"},
    "api-trial-list": {"public_id": "dialogue"},
    "api-validator": {"public_id": "dialogue", "constraint": "task"},
    "api-variant-list": {"public_id": "dialogue"},
    "api-variant-make": {"public_id": "dialogue"},
    "api-webhook": {"public_id": "webhook"},
    "api-webhook-again": {"public_id": "webhook"},
    "api-webhook-delivery": {"public_id": "webhook"},
    "api-webhook-delivery-list": {"public_id": "webhook"},
    "api-webhook-rotate": {"public_id": "webhook"},
    "api-webhook-test": {"public_id": "webhook"},
    "assignment-plan-detail": {"public_id": "plan"},
    "assignment-plan-undo": {"public_id": "plan"},
    "dialogue-settle": {"public_id": "dialogue"},
    "dialogue-tags": {"public_id": "dialogue"},
    "assignment-resume": {"public_id": "pause"},
    "comment-edit": {"public_id": "dialogue"},
    "comment-resolve": {"public_id": "dialogue"},
    "api-statistics-person": {"public_id": "person"},
    "decision-tree": {"public_id": "dialogue"},
    "validator": {"public_id": "dialogue", "constraint": "task"},
    "workspace-comment-change": {"public_id": "comment"},
    "workspace-suggestion-accept": {"public_id": "suggestion"},
    "workspace-suggestion-refuse": {"public_id": "suggestion"},
    "workspace-validator": {"constraint": "task"},
    "dialogue": {"public_id": "dialogue"},
    "example": {"public_id": "example"},
    "example-mark": {"public_id": "dialogue"},
    "variant": {"public_id": "dialogue", "other": "dialogue"},
    "variant-make": {"public_id": "dialogue"},
    "variant-match": {"public_id": "dialogue"},
    "example-withdraw": {"public_id": "example"},
    "dialogue-comment": {"public_id": "dialogue"},
    "dialogue-replay": {"public_id": "dialogue"},
    "dialogue-play": {"public_id": "dialogue"},
    "dialogue-run": {"public_id": "dialogue"},
    "baseline": {"public_id": "baseline"},
    "dialogue-answers": {"public_id": "dialogue"},
    "score-board-recount": {"public_id": "release"},
    "baseline-start": {"public_id": "release"},
    "endpoint-change": {"public_id": "endpoint"},
    "inference": {"public_id": "inference"},
    "inference-start": {"public_id": "release"},
    "entry-detail": {"public_id": "release", "key": "entry"},
    "entry-list": {"public_id": "release"},
    "errata-download": {"public_id": "release"},
    "errata-list": {"public_id": "release"},
    "errata-share": {"public_id": "release"},
    "error-report": {"public_id": "release"},
    "erratum-add": {"public_id": "release"},
    "erratum-decide": {"public_id": "release", "report": "erratum_report"},
    "generation": {"public_id": "generation"},
    "generation-call": {"public_id": "generation", "number": "generation_call"},
    "generation-records": {"public_id": "generation"},
    "gold-item": {"public_id": "gold"},
    "gold-retire": {"public_id": "gold"},
    "import-cancel": {"public_id": "import"},
    "import-detail": {"public_id": "import"},
    "import-preview": {"public_id": "import_preview"},
    "import-report": {"public_id": "import"},
    "invitation-revoke": {"public_id": "invitation"},
    "member-change": {"public_id": "person"},
    "notice-read": {"public_id": "notice"},
    "prediction-file": {"public_id": "predictions"},
    "release-detail": {"public_id": "release"},
    "release-diff": {"public_id": "release"},
    "release-items": {"public_id": "release"},
    "release-statistics": {"public_id": "release"},
    "release-diff-html": {"public_id": "release"},
    "release-diff-json": {"public_id": "release"},
    "release-download": {"public_id": "release"},
    "replay": {"public_id": "dialogue"},
    "run": {"public_id": "run"},
    "run-entry": {"public_id": "run", "key": "score"},
    "score-board": {"public_id": "release"},
    "score-board-file": {"public_id": "release"},
    "score-board-share": {"public_id": "release"},
    "shared-badge": {"token": "shared"},
    "shared-errata": {"token": "shared_errata"},
    "shared-scores": {"token": "shared"},
    "shared-table": {"token": "shared"},
    "revision-diff": {"public_id": "dialogue"},
    "saved-view": {"public_id": "view"},
    "statistics-person": {"public_id": "person"},
    "token-revoke": {"public_id": "token"},
    "toolset": {"public_id": "toolset"},
    "toolset-details": {"public_id": "toolset"},
    "toolset-send": {"public_id": "toolset"},
    "training-item": {"public_id": "training"},
    "training-person": {"public_id": "person"},
    "training-result": {"result": "training_slot"},
    "webhook": {"public_id": "webhook"},
    "webhook-delivery": {"public_id": "webhook"},
}

#: What is posted, so that only permission decides; ``$name`` means an id of the project.
BODIES: dict[str, dict[str, Any]] = {
    "api-assignment-plan-list": {"action": "prioritise", "priority": 0, "slots": ["$free_slot"]},
    "api-baseline-list": {"person": "$person"},
    "api-feedback-answer": {"accept": True, "text": "So it was."},
    "api-feedback-dispute": {"text": "The price is in the observation."},
    "api-feedback-reply": {"text": "Thank you."},
    "api-comment-list": {"anchor": "/tasks/t1", "text": "Is this so?"},
    "api-endpoint-list": {"name": "Remote", "base_url": "https://models.example.org/v1"},
    "api-erratum-add": {"item": "none", "severity": "minor", "reason": "The city is wrong."},
    "api-inference-list": {"endpoint": "$endpoint", "model": "m"},
    "api-erratum-confirm": {"severity": "minor", "reason": "The city is wrong."},
    "api-erratum-decline": {"reason": "The city is right."},
    "api-erratum-report-list": {"item": "none", "text": "The city is wrong."},
    "erratum-decide": {"severity": "minor", "reason": "The city is wrong."},
    "api-comment-edit": {"text": "Is this one request?"},
    "comment-edit": {"text": "Is this one request?"},
    "api-example-list": {"dialogue": "$dialogue", "comment": "Every value has its source."},
    "api-gold-list": {"dialogue": "$dialogue", "stage": "cross_check"},
    "api-gold-rates": {"stage": "cross_check", "rate": 0.05},
    "api-guideline-acceptance-list": {"number": 1},
    "api-guideline-acceptance-setting": {"required": True},
    "api-training-person": {"state": "exempt"},
    "guideline-acceptance": {"number": "1"},
    "guideline-acceptance-setting": {"required": "on"},
    "training-item": {"action": "down"},
    "training-person": {"state": "exempt"},
    "training-settings": {"stage": "cross_check", "length": "1", "pass_mark": "1", "attempts": "1"},
    "api-guideline-version-list": {"text": "Be careful.", "seen": 1},
    "api-invitation-list": {"roles": ["annotator"]},
    "api-outdated-list": {"number": 1, "reason": "Dates are ISO 8601 now."},
    "api-outdated-preview": {"number": 1},
    "api-project-list": {"name": "Another one"},
    "api-project-deletion": {"name": "Spine"},
    "api-protocol-check": {"definition": {}},
    "api-protocol-move": {"number": 1},
    "api-protocol-version-list": {"definition": {}, "seen": 1},
    "api-review-session": {"people": ["$person"]},
    "api-review-session-claim": {"dialogue": "$dialogue"},
    "api-saved-view-list": {"name": "Mine", "query": "problems=errors", "shared": True},
    "api-session-decision-list": {"slot": "$slot", "token": "$claim", "verdict": "approve"},
    "api-toolset": {"tools": [], "seen": 2},
    "api-toolset-preview": {"tools": []},
    "api-toolset-list": {"name": "Boats", "tools": [{"name": "sail"}]},
    "toolset-review": {"action": "hop"},
    "toolset-categories": {"action": "add", "name": "Boats"},
    "toolset-details": {"name": "Boats"},
    "toolset-import": {"name": "Boats", "tools": '[{"name": "sail"}]'},
    "api-pause-list": {"stage": "cross_check"},
    "api-coverage": {"dimension": "level", "value": "1", "wanted": 2},
    "coverage": {"do": "target", "target": "level:1", "wanted": "2"},
    "api-similarity": {"threshold": 80, "seen": 80},
    "similar-settings": {"threshold": "80", "seen": "80"},
    "api-release-settings": {"seen": 0, "licence": "CC-BY-4.0"},
    "api-release-list": {"version": "2.0", "format": "wild"},
    "api-variant-list": {"variant": "none", "revision": "$revision", "variant_revision": "none"},
    "api-variant-make": {"language": "zh"},
    "variant-make": {"language": "zh"},
    "api-webhook-list": {"url": "https://hooks.example.org/", "events": ["dialogue.verified"]},
    "api-work-heartbeat": {"token": "$claim"},
    "api-work-release": {"token": "$claim"},
    "api-work-skip": {"token": "$claim"},
    "api-work-take-back": {"token": "$claim"},
    "api-work-waive": {
        "token": "$claim",
        "check": "label.x",
        "anchor": "/tasks/t1",
        "value_hash": "0",
        "reason": "Fine.",
    },
    "api-work-unwaive": {"token": "$claim", "check": "label.x", "anchor": "/tasks/t1", "value_hash": "0"},
    "api-work-submit": {"token": "$claim", "verdict": "approve"},
    "assignment-pause": {"stage": "cross_check", "reason": "On holiday"},
    "assignment-plan": {"action": "prioritise", "to_priority": "0", "slot": ["$free_slot"]},
    "api-dialogue-tags": {"add": ["hard"]},
    "dialogue-plan": {"action": "tag", "tags": "hard", "dialogue": ["$dialogue"]},
    "dialogue-tags": {"add": "hard"},
    "daily-goal": {"goal": "20"},
    "api-goal": {"goal": 20},
    "api-goal-list": {"goal": 20, "person": "$person"},
    "api-training": {"stage": "cross_check", "length": 1, "pass_mark": 1, "attempts": 1, "enabled": False},
    "feedback-answer": {"verdict": "accept", "text": "So it was."},
    "feedback-dispute": {"text": "The price is in the observation."},
    "feedback-reply": {"text": "Thank you."},
    "statistics-sensitivity": {"stage": "expert", "known": "20", "found": "18"},
    "statistics-team-reassign": {"slot": "$slot"},
    "dialogue-comment": {"anchor": "/tasks/t1", "text": "Is this so?"},
    "api-field-list": {"version": 1, "definitions": []},
    "field-change": {"key": "note", "title": "Renamed", "type": "text", "scope": "task", "seen": "1"},
    "field-create": {"key": "other", "title": "Other", "type": "text", "scope": "task", "seen": "1"},
    "field-list": {"key": "note", "by": "1", "seen": "1"},
    "gold-rate": {"stage": "cross_check", "percent": "5"},
    "guideline-edit": {"text": "Be careful.", "seen": "1"},
    "guideline-outdated": {"version": "1", "reason": "Dates are ISO 8601 now."},
    "job-list": {"job": "$job"},
    "review-session": {"present": "$person"},
    "member-change": {"role": "senior_reviewer", "action": "grant"},
    "invite-many": {"people": "Amina <amina@example.org>", "roles": ["annotator"]},
    "member-list": {"roles": ["annotator"]},
    "notice-settings": {"daily": ["mention"], "time_zone": "Europe/Kyiv"},
    "project-archive": {"do": "archive"},
    "project-create": {"name": "Another one"},
    "project-settings": {"name": "Renamed", "time_zone": "UTC", "long_range_rule": "c3"},
    "protocol-move": {"seen": "1"},
    "release-settings": {"licence": "CC-BY-4.0", "seen": "0"},
    "release-list": {"version": "2.0", "native_format": "wild"},
    "saved-view": {"name": "Wrong ones"},
    "token-list": {"name": "nightly"},
    "webhook": {"test": "1"},
    "webhook-list": {"url": "https://hooks.example.org/", "events": ["dialogue.verified"]},
    "workspace-comment": {"anchor": "/tasks/t1", "text": "Is this so?"},
    "workspace-edit": {"op": "set", "anchor": "/tasks/t1/user_message", "value": "How is the weather in Ghent?"},
    "workspace-submit": {"verdict": "approve"},
}


def _read(table: str) -> dict[tuple[str, str], dict[str, str]]:
    """(name, method) → visitor → what they get."""
    out = {}
    for line in table.splitlines()[3:]:
        name, *codes = line.split()
        for method, half in (("GET", codes[:7]), ("POST", codes[7:])):
            row = {visitor: "sign-in" if code == "in" else code for visitor, code in zip(VISITORS, half, strict=True)}
            out[name, method] = row | {"deactivated": row["anonymous"]}
    return out


EXPECTED = _read(_TABLE)
