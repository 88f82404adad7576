"""Releases for tests: values of release.toml that UD takes."""

from __future__ import annotations

MANUAL = "manual native"
VALUES = {
    "Summary": "Two dogs and what they do, for the tests of a program.",
    "Introduction": "Dogs.",
    "Acknowledgments": "Dogs.",
    "Changelog": "* 2026-11-15 v2.19",
    "Data available since": "UD v2.19",
    "License": "CC BY-SA 4.0",
    "Includes text": "yes",
    "Parallel": "no",
    "Genre": "fiction",
    "Lemmas": MANUAL,
    "UPOS": MANUAL,
    "XPOS": "not available",
    "Features": MANUAL,
    "Relations": MANUAL,
    "Contributors": "Smith, Anna; Jones, Ben",
    "Contributing": "elsewhere",
    "Contact": "anna@example.org",
}
