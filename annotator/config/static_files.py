"""How static files are stored for browsers that keep them for good."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class ModuleStorage(CompressedManifestStaticFilesStorage):
    """Gives files names with their hash, also where one of our JavaScript modules imports another.

    Django can follow imports, but in all files or none; those of other packages name files that they do not ship.
    """

    support_js_module_import_aggregation = True
    _js_module_import_aggregation_patterns = (
        "app/*.js",
        CompressedManifestStaticFilesStorage._js_module_import_aggregation_patterns[1],
    )
