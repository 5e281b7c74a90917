"""Runs on disk: exact checkpoints, the run folder, the host loop, progress, several seeds."""
