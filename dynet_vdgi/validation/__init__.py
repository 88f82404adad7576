"""What Universal Dependencies require of a sentence, as far as no language's own lists are needed.

Levels are those of UD's validator: 1, the lines can be read; 2, columns and trees have UD's form; 3, the
annotation follows the guidelines that all languages share. `form` has levels 1 and 2, `content` level 3,
`checking` puts them together for sentences and files.
"""
