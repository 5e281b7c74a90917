"""What a study has to do: its runs as far as they are known before, and as work for the driver."""

import itertools
from collections.abc import Sequence
from functools import partial

from coemarl.runs import folder as run_folders
from coemarl.studies import folder as folders
from coemarl.studies import runs as expansion
from coemarl.studies import search as searching
from coemarl.studies.driver import Work
from coemarl.studies.folder import StudyFolder
from coemarl.studies.runs import Run, checked, config_of, is_candidate
from coemarl.studies.search import Chosen
from coemarl.studies.space import space_of
from coemarl.studies.study import Study


def plain_runs(study: Study, chosen: Chosen) -> list[Run]:
    """The runs of the entries that search nothing."""
    return expansion.expand(study, [(entry, task) for entry, task in chosen if entry.space is None])


def planned(study: Study, chosen: Chosen) -> list[Run]:
    """All runs there will be; of a search, where what is tried follows from what was tried before,
    runs that are like them. Refusal names all that is wrong."""
    expansion.check_algorithms(study, chosen)
    runs = plain_runs(study, chosen)
    if study.search is None:
        return runs
    trials = candidates(study, chosen)
    ends = [
        run
        for entry, _ in searching.searched(chosen).values()
        for run in searching.finals(study, entry, next(space_of(entry).points()))
    ]
    return [*runs, *trials, *ends]


def candidates(study: Study, chosen: Chosen) -> list[Run]:
    """A search's candidates, or as many that are like them."""
    search = searching.of(study)
    if search.kind == "grid":
        return searching.expand(study, chosen)
    makers = [
        (searching.candidate(entry, number), partial(config_of, study, entry, task, seed, point))
        for entry, tasks in searching.searched(chosen).values()
        for number, point in zip(
            range(search.trials), itertools.cycle(space_of(entry).points()), strict=False
        )
        for task in tasks
        for seed in study.seeds
    ]
    return checked(study, makers)


def work_of(study: Study, chosen: Chosen, place: StudyFolder, slots: int) -> Work:
    """The work for the driver: plain runs, and what the search asks for."""
    plain = plain_runs(study, chosen)
    if study.search is None:
        return Work(plain)
    if study.search.kind == "grid":
        work = searching.GridSearch(study, chosen, place).work()
    else:
        from coemarl.studies.tpe import TpeSearch

        work = TpeSearch(study, chosen, place, slots).work()
    return Work([*plain, *work.runs], work.heard, work.ended)


def shown_runs(study: Study, chosen: Chosen, place: StudyFolder) -> list[Run]:
    """The runs that a status shows: those planned, but of trials those that are there."""
    runs = planned(study, chosen)
    if study.search is None or study.search.kind == "grid":
        return runs
    known: Sequence[Run] = [run for run in runs if not is_candidate(run.label)]
    there = [folders.run_in(place, each) for each in run_folders.runs_below(place.path / "runs")]
    return [*(run for run in there if is_candidate(run.label)), *known]
