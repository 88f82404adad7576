"""Correcting trees in a page while the parser learns from what is corrected.

From bottom to top: `mending`, `marked` and `relations` (sentences and what a person said about them),
`journal`, `own_file` and `session` (nothing that was acknowledged is lost), `loop` (learning), `helpers`
(it runs in other processes), `live` (what happens while the page is open), `guard` and `server` (the page's
requests), `page` (what the browser gets).
"""
