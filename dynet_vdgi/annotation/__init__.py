"""Correcting trees in a page while the parser learns from the corrections.

From bottom to top: `marked` (sentences and a person's statements about them), `changes` and `tokens` (what a
person can change), `annotated_text` (the text, and its history), `journal`, `own_file` and `session` (no
acknowledged change is lost), `loop` (learning), `helpers` (learning in other processes), `live` (events while
the page is open), `guard`, `serving` and `server` (the page's requests), `page` (the files for the browser).
"""
