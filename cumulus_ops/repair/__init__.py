"""What was lost on the disk is found, and made again."""
