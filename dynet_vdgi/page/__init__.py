"""Correcting trees in a page while the parser learns from the corrections.

From bottom to top: `marked` (sentences and a person's statements about them), `changes` and
`tokens` (what a person can change), `annotated_text` (the text, and its history), `journal` and
`session` (no acknowledged change is lost), `loop` (learning), `live` (learning in other processes,
events while the page is open), `serving` and `server` (the page's requests), `page` (the files for
the browser).
"""
