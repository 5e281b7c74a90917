"""A Ray cluster: an existing one by its address, or one started on this machine and ended after.

A run is one `ray.remote` task on one CPU. No disk is shared: the task gets the run's newest
checkpoint and rows as its arguments, trains in a folder of its own by the same child process as
everywhere, and streams back what happens; whenever a new checkpoint is there, checkpoint and rows
come along, and are put into the run's folder on the driver's disk before the event is told. So a
node that dies costs the work since its last checkpoint, and nothing else.

Ray's own retries begin a task again with its first arguments, which would lose all that came back
meanwhile. Therefore they are off, and the driver's retries give the run to Ray once more, from the
checkpoint that it has by then. Every node needs coemarl installed.
"""

import contextlib
import json
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from coemarl.refusal import Refusal
from coemarl.runs import checkpoint, folder
from coemarl.runs.folder import RunFolder
from coemarl.runs.loop import Event
from coemarl.studies import child
from coemarl.studies.places.place import Heard, Place

Files = dict[str, bytes]
"""Path in a run's folder: content."""
SMALL = ("config.json", "origin.json", "rows.jsonl", "timing.jsonl")
"""What is brought beside the newest checkpoint."""
ALONE = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # all servers listen on the loopback interface only
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_worker_niceness": "0",  # at Ray's 15, a busy machine would hardly let workers begin
}
"""Settings of a Ray of this machine alone; it reads them when it is imported."""


def make_ray(address: str | None = None, workers: int | None = None) -> Place:
    """Tasks on the cluster at that address ("auto": the one this machine belongs to); None starts
    one here, heard by this machine alone, with so many workers (one a core if not said)."""
    if address is None:
        os.environ.update(ALONE)
    try:
        import ray
        import ray.exceptions as errors
    except ImportError:
        raise Refusal("Ray is not installed: pip install 'coemarl[ray]'") from None
    connect(ray, address, workers)
    remote = ray.remote(num_returns="streaming", num_cpus=1, max_retries=0)(train)
    going: dict[str, Any] = {}
    runs: dict[str, RunFolder] = {}
    slots = workers or max(1, int(ray.cluster_resources().get("CPU", 1)))

    def start(name: str, run: RunFolder) -> None:
        runs[name] = run
        going[name] = remote.remote(files_of(run))

    def hear(seconds: float) -> Heard:
        if not going:
            time.sleep(seconds)
            return []
        names = {id(stream): name for name, stream in going.items()}
        heard: Heard = []
        while ready := ray.wait([*going.values()], timeout=seconds, fetch_local=False)[0]:
            name, seconds = names[id(ready[0])], 0.0
            heard.append((name, told(name, ready[0])))
            if not going:
                break
        return heard

    def told(name: str, stream: Any) -> Event:
        """The next thing that a stream tells; `gone` if its task did not come to an end."""
        try:
            event, files = ray.get(next(stream))
            put(runs[name], files)
        except StopIteration:
            event = child.gone(False, "its task ended without a word")
        except errors.TaskCancelledError:
            event = child.gone(False, None)
        except errors.RayError as error:
            event = child.gone(False, reason(error))
        if event["event"] == "gone":
            del going[name]
        return event

    def stop(name: str) -> None:
        if name in going:
            ray.cancel(going[name])

    def close() -> None:
        for stream in going.values():
            ray.cancel(stream, force=True)
        ray.shutdown()

    return Place(
        summary=f"{slots} workers on {'a Ray cluster' if address else 'a Ray started here'}",
        slots=slots,
        start=start,
        hear=hear,
        stop=stop,
        close=close,
    )


def connect(ray: Any, address: str | None, workers: int | None) -> None:
    """Join the cluster, or start one that listens on this machine's own interface only."""
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    try:
        if address is None:
            ray.init(address="local", num_cpus=workers, include_dashboard=False, **quiet)
        else:
            ray.init(address=address, **quiet)
    except (ConnectionError, RuntimeError, ValueError) as error:
        first = str(error).strip().splitlines()[0]
        raise Refusal(f"cannot reach Ray at {address or 'this machine'}: {first}") from None


def reason(error: BaseException) -> str:
    """Why a task died, in a line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


# Files, on either side


def files_of(run: RunFolder, seen: str = "") -> Files:
    """A run's newest checkpoint and what belongs to it; nothing if that is the one seen."""
    newest = folder.checkpoint_paths(run)[-1:]
    if newest and newest[0].name == seen:
        return {}
    # The checkpoint first: rows that are written meanwhile are cut off when it is taken up.
    files = {f"checkpoints/{path.name}": path.read_bytes() for path in newest}
    return files | {
        name: (run.path / name).read_bytes() for name in SMALL if (run.path / name).exists()
    }


def put(run: RunFolder, files: Files) -> None:
    """Write files into a run's folder, each whole or not at all, and the checkpoint last."""
    run.checkpoints.mkdir(parents=True, exist_ok=True)
    for name in sorted(files, key=lambda name: name.startswith("checkpoints/")):
        if name != "rows.jsonl" or not is_older(files[name], run.rows):
            with checkpoint.replacing(run.path / name) as file:
                file.write(files[name])
    for old in folder.checkpoint_paths(run)[:-2] if files else ():
        old.unlink()


def is_older(rows: bytes, path: Path) -> bool:
    """Whether rows are only the first of those in the file."""
    return path.exists() and path.read_bytes().startswith(rows)


def train(files: Files) -> Iterator[tuple[Event, Files]]:
    """The task: train the run that these files are, and yield its events, each with the files
    that are new."""
    with tempfile.TemporaryDirectory(prefix="coemarl-") as place:
        run = RunFolder(Path(place))
        put(run, files)
        seen = newest_name(run)
        begun = child.start(run.path)
        try:
            for event in begun.events():
                new = files_of(run, seen)
                seen = newest_name(run) if new else seen
                yield plain(event), new
        except KeyboardInterrupt:  # cancelled: let it save, and bring that
            begun.stop()
            for event in begun.events():
                yield plain(event), files_of(run, seen) if event["event"] == "gone" else {}
        finally:
            with contextlib.suppress(ProcessLookupError):
                begun.kill()


def newest_name(run: RunFolder) -> str:
    paths = folder.checkpoint_paths(run)
    return paths[-1].name if paths else ""


def plain(event: Event) -> Event:
    """The event as plain values."""
    return json.loads(json.dumps(event))
