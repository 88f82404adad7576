"""Scores of trees against gold trees, and what lies beside them: baselines, significance,
agreement, drawings."""
