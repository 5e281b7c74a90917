"""Places to run a study: one maker each, and a table by the names of `--on`."""

from coemarl.studies.places.place import Place

__all__ = ["PLACES", "Place"]

PLACES = {
    "local": "this machine, a process for each run and a core for each process",
    "ray": "a Ray cluster, an existing one by its address or one started here",
    "slurm": "a Slurm cluster, as array jobs",
}
