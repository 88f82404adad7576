"""What Universal Dependencies require: `form`, of one sentence at once; `official`, by UD's own validator."""
