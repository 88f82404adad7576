"""Correcting trees in a page while the parser learns from the corrections.

From bottom to top: `mending`, `marked` and `relations` (sentences and a person's statements about them),
`journal`, `own_file` and `session` (no acknowledged change is lost), `loop` (learning), `helpers` (learning
in other processes), `live` (events while the page is open), `guard` and `server` (the page's requests),
`page` (the files for the browser).
"""
