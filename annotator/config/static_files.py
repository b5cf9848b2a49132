"""Storage of static files with hashed names, so that browsers can cache them forever."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class ModuleStorage(CompressedManifestStaticFilesStorage):
    """Adds hashes to file names and to the imports in our JavaScript modules.

    Django can rewrite imports in all files or in none. Modules of other packages import files that they do not include.
    """

    support_js_module_import_aggregation = True
    _js_module_import_aggregation_patterns = (
        "app/*.js",
        CompressedManifestStaticFilesStorage._js_module_import_aggregation_patterns[1],
    )
