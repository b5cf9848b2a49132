"""Backups without the database: the manifest, encryption, the folder with all backups, which of them are kept.

A folder of backups has ``NAME/manifest.json`` and ``NAME/database`` for each backup, and ``objects/``, where each
stored file is kept once, under the hash of its content, for all backups that have it. A backup without a manifest is
not finished.
"""
