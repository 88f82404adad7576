"""Settings of a run: their sections, checks, presets, and the registries of recipes and
teachers."""
