"""What the page keeps on the disk, and how a file and its journal go on."""
