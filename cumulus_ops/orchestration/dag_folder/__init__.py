"""What ``cumulus up`` gives to the scheduler as its folder: one file, for the project that CUMULUS_PROJECT names."""
