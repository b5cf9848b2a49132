"""The API and its description."""

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "annotator.api.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": [
        "rest_framework.permissions.IsAuthenticated",
        "annotator.api.scopes.HasScope",
        "annotator.api.filters.KnownParameters",
    ],
    "DEFAULT_PARSER_CLASSES": ["annotator.api.parsing.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["annotator.api.rendering.FastJSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "annotator.api.schema.StrictSchema",
    "EXCEPTION_HANDLER": "annotator.api.errors.handle",
    "DEFAULT_PAGINATION_CLASS": "annotator.api.pagination.KeysetPagination",
    "PAGE_SIZE": 50,
    # There is only JSON, so “format” is an unknown parameter and refused.
    "URL_FORMAT_OVERRIDE": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Assay",
    "DESCRIPTION": "Import candidates, read status and revisions, submit reviews, and download releases.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PUBLIC": True,
    "SCHEMA_PATH_PREFIX": "/api/",
    # Separate schemas for requests and responses: a request contains a file, its response an address.
    "COMPONENT_SPLIT_REQUEST": True,
    # Names of values that several fields have.
    "ENUM_NAME_OVERRIDES": {
        "ChangeKindEnum": ["added", "removed", "changed", "moved"],
        "DeliveryStateEnum": "annotator.models.DeliveryState",
        "StatusEnum": "annotator.models.content.DialogueStatus",
        "GenerationStatusEnum": "benchmark.models.GenerationStatus",
        "ChooserEnum": "benchmark.models.Chooser",
        "JobStateStateEnum": ["queued", "running", "done", "failed", "cancelled"],
        "ChangeCategoryEnum": "benchmark.api.release_differences.CATEGORIES",
        "ReadFormatEnum": "benchmark.core.formats.READ",
        "WrittenFormatEnum": "benchmark.core.formats.WRITTEN",
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "annotator.api.schema.complete",
    ],
}
