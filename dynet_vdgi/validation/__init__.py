"""What Universal Dependencies require, of one sentence at once, and by UD's own validator."""
