"""Static files and stored files."""

from pathlib import Path

from annotator.config import environment as env
from annotator.config.settings.mode import BASE_DIR, DATA_DIR, DEBUG

STATIC_URL = "/static/"
STATIC_ROOT = Path(env.text("STATIC_ROOT", default=str(DATA_DIR / "static")))
STATICFILES_DIRS = [BASE_DIR / "static"]
MEDIA_ROOT = DATA_DIR / "files"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG or env.boolean("ASSAY_PLAIN_STATIC", default=False)
        else "annotator.config.static_files.ModuleStorage"
    },
}
# Megabytes of files that each project may store, unless operators set another number for it. 0: no limit.
PROJECT_QUOTA_MB = env.integer("PROJECT_QUOTA_MB", default=0)
WHITENOISE_KEEP_ONLY_HASHED_FILES = False
WHITENOISE_USE_FINDERS = env.boolean("ASSAY_PLAIN_STATIC", default=False)

# Keys with which backups are encrypted; blank: they are not.
BACKUP_KEY = env.text("BACKUP_KEY")
