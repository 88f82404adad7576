"""The parser of Li, Cheng, Liu and Keller (AAAI 2019); README.md leads from its equations to these
files."""
