"""Statistics against scipy, published worked examples, formulas by hand, and degenerate input."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from coemarl.statistics import (
    Curves,
    average,
    compare_with_best,
    estimate,
    holm,
    interquartile_mean,
    mann_whitney,
    maximum,
    performance_profile,
    probability_of_improvement,
    steps_to,
    stratified_interval,
    student,
    survival,
    welch,
)
from coemarl.statistics.aggregates import bounds_of, normalised
from coemarl.statistics.comparisons import corrected, orders
from coemarl.statistics.curves import pointwise
from coemarl.statistics.efficiency import Times

# Hours of sleep won by two drugs: Cushny and Peebles, the example of Student's paper of 1908.
SLEEP = (
    [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0],
    [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4],
)
# Permeability of tissue at term and earlier: Hollander and Wolfe, example of the rank test.
TISSUE = (
    [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46],
    [1.15, 0.88, 0.90, 0.74, 1.21],
)
# Weeks of remission under 6-MP, negative where censored: Freireich et al. 1963.
REMISSION = [6, 6, 6, -6, 7, -9, 10, -10, -11, 13, 16, -17, -19, -20, 22, 23, -25, -32, -32, -34]
REMISSION += [-35]

values = st.floats(-100, 100).map(lambda x: round(x, 1))
two_or_more = st.lists(values, min_size=2, max_size=7)


def curves(rows, steps=None, seeds=None):
    table = np.asarray(rows, float)
    return Curves(
        tuple(seeds or range(len(table))),
        np.asarray(steps if steps is not None else range(table.shape[1])),
        table,
    )


# The paper's two numbers


def test_average_return_is_the_mean_over_all_points_of_each_seed():
    result = average(curves([[0, 1, 2], [0, 3, 6]]))
    assert result.values == (1.0, 3.0)
    assert result.mean == 2.0
    # s = sqrt(2), n = 2: 1.96 * sqrt(2) / sqrt(2)
    assert result.half == pytest.approx(1.96)


def test_maximum_return_is_the_highest_mean_over_seeds_and_not_the_mean_of_highest():
    result = maximum(curves([[0, 9, 4], [0, 1, 8]], steps=[0, 100, 200]))
    assert (result.mean, result.step) == (6.0, 200)
    assert result.values == (4.0, 8.0)
    assert result.half == pytest.approx(1.96 * np.std([4, 8], ddof=1) / math.sqrt(2))


def test_of_equal_maxima_the_first_counts():
    assert maximum(curves([[0, 5, 5]], steps=[0, 10, 20])).step == 10


def test_an_incomplete_seed_is_left_out_and_named():
    result = average(curves([[1, 1], [3, 3], [9, np.nan]], seeds=[0, 1, 7]))
    assert result.mean == 2.0
    assert result.seeds == (0, 1)
    assert any("seed 7 incomplete" in note for note in result.notes)


def test_without_any_complete_seed_the_common_points_count_and_are_called_preliminary():
    result = average(curves([[1, 2, np.nan], [3, np.nan, np.nan]], steps=[0, 10, 20]))
    assert result.mean == 2.0
    assert any("preliminary" in note and "1 of 3 points" in note for note in result.notes)


def test_no_rows_at_all_is_said():
    result = maximum(curves([[np.nan, np.nan]]))
    assert math.isnan(result.mean)
    assert {"no row of seed 0", "no seed has a value"} <= set(result.notes)


def test_the_curve_has_the_mean_of_the_seeds_there_at_each_point():
    points = pointwise(curves([[1, 2], [3, np.nan]], steps=[0, 50]))
    assert [point.mean for point in points] == [2.0, 2.0]
    assert [len(point.values) for point in points] == [2, 1]
    assert [point.step for point in points] == [0, 50]


def test_curves_of_a_wrong_shape_are_refused():
    with pytest.raises(ValueError, match="shape"):
        Curves((0, 1), np.arange(3), np.zeros((2, 2)))


# Intervals


def test_t_interval_equals_scipy():
    sample = SLEEP[0]
    ours = estimate(sample, "t")
    theirs = stats.t.interval(0.95, len(sample) - 1, np.mean(sample), stats.sem(sample))
    assert (ours.low, ours.high) == pytest.approx(theirs)


def test_bootstrap_interval_is_near_scipys_and_the_same_every_time():
    ours = estimate(SLEEP[0], "bootstrap")
    theirs = stats.bootstrap(
        (SLEEP[0],), np.mean, method="percentile", rng=np.random.default_rng(5)
    ).confidence_interval
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.06)
    assert estimate(SLEEP[0], "bootstrap") == ours


def test_bootstrap_of_two_values_has_the_exact_distribution():
    # Means of two draws from {0, 1}: 0, 1/2, 1 with probabilities 1/4, 1/2, 1/4.
    result = estimate([0, 1], "bootstrap")
    assert (result.low, result.high) == (0.0, 1.0)


def test_one_seed_has_no_interval_and_says_so():
    result = estimate([3.0], "t")
    assert result.mean == 3.0
    assert math.isnan(result.half)
    assert result.notes == ("one seed: no interval",)


@pytest.mark.parametrize("kind", ["normal", "t", "bootstrap"])
def test_equal_values_give_an_interval_without_width_and_say_so(kind):
    result = estimate([0.5, 0.5, 0.5], kind)
    assert (result.low, result.high) == (0.5, 0.5)
    assert "same value" in result.notes[0]


def test_values_that_are_no_numbers_are_left_out_and_counted():
    result = estimate([1.0, math.nan, 3.0], seeds=[4, 5, 6])
    assert (result.mean, result.seeds) == (2.0, (4, 6))
    assert result.notes == ("1 of 3 seeds have no value and are left out",)


def test_an_unknown_interval_is_refused():
    with pytest.raises(ValueError, match="normal, t, bootstrap"):
        estimate([1, 2], "gauss")  # type: ignore[arg-type]


# Tests of two samples


def test_students_example_of_1908():
    ours = student(*SLEEP)
    assert ours.statistic == pytest.approx(-1.8608, abs=5e-5)
    assert ours.degrees == 18
    assert ours.p == pytest.approx(0.07919, abs=5e-6)


def test_welch_on_the_same_example():
    ours = welch(*SLEEP)
    assert ours.degrees == pytest.approx(17.776, abs=5e-4)
    assert ours.p == pytest.approx(0.07939, abs=5e-6)


def test_rank_test_on_the_example_of_hollander_and_wolfe():
    ours = mann_whitney(*TISSUE)
    assert ours.statistic == 35
    assert ours.p == pytest.approx(0.2544, abs=5e-5)


@pytest.mark.filterwarnings("ignore:Precision loss")  # of scipy, where one sample has no spread
@given(two_or_more, two_or_more)
def test_tests_equal_scipy_on_any_samples(a, b):
    if np.ptp(a) > 0 or np.ptp(b) > 0:
        for ours, equal_var in ((student(a, b), True), (welch(a, b), False)):
            theirs = stats.ttest_ind(a, b, equal_var=equal_var)
            assert (ours.statistic, ours.p) == pytest.approx(
                (theirs.statistic, theirs.pvalue), rel=1e-6, abs=1e-9
            )
    if len({*a, *b}) > 1:
        ours, theirs = mann_whitney(a, b), stats.mannwhitneyu(a, b)
        assert ours.statistic == theirs.statistic
        assert ours.p == pytest.approx(theirs.pvalue, rel=1e-9)


def test_large_samples_take_the_normal_approximation_as_scipy_does():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=30), rng.normal(0.5, size=40)
    assert mann_whitney(a, b).p == pytest.approx(stats.mannwhitneyu(a, b).pvalue)


def test_orders_count_every_arrangement():
    assert orders(2, 2) == [1, 1, 2, 1, 1]
    assert sum(orders(5, 4)) == math.comb(9, 4)


def test_three_seeds_against_three_cannot_be_significant_by_ranks_and_it_says_so():
    outcome = mann_whitney([1, 2, 3], [4, 5, 6])
    assert outcome.p == pytest.approx(0.1)
    assert "least possible p is 0.1" in outcome.note


@pytest.mark.parametrize("test", [student, welch, mann_whitney])
def test_one_seed_cannot_be_tested(test):
    outcome = test([1.0], [2.0, 3.0])
    assert math.isnan(outcome.p)
    assert "1 against 2 seeds" in outcome.note


@pytest.mark.parametrize("test", [student, welch])
def test_without_spread_a_t_test_is_not_defined(test):
    outcome = test([1.0, 1.0], [2.0, 2.0])
    assert math.isnan(outcome.p)
    assert "another mean" in outcome.note
    assert "the same mean" in test([1.0, 1.0], [1.0, 1.0]).note


def test_ranks_of_equal_values_say_nothing():
    assert "equal" in mann_whitney([1, 1], [1, 1]).note


def test_holm_on_the_textbook_example():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_holm_leaves_undefined_tests_out():
    adjusted = holm([0.02, math.nan, 0.03])
    assert adjusted[0] == pytest.approx(0.04)
    assert math.isnan(adjusted[1])
    assert adjusted[2] == pytest.approx(0.04)


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_never_lowers_and_never_reorders(p_values):
    adjusted = holm(p_values)
    assert all(p <= q <= 1 for p, q in zip(p_values, adjusted, strict=True))
    ranked = [q for _, q in sorted(zip(p_values, adjusted, strict=True))]
    assert ranked == sorted(ranked)


def test_the_asterisk_marks_those_not_different_from_the_best():
    table = {"best": [10, 11, 12], "near": [9, 10.5, 12], "far": [0, 1, 2], "one": [3]}
    compared = compare_with_best(table)
    assert compared["best"].best
    assert compared["near"].indistinct is True
    assert compared["far"].indistinct is False
    assert compared["one"].indistinct is None
    p = stats.ttest_ind(table["best"], table["near"]).pvalue
    assert compared["near"].p == pytest.approx(p)


def test_equally_good_ones_are_all_the_best():
    compared = compare_with_best({"a": [1, 3], "b": [3, 1], "c": [0, 0.5]})
    assert [name for name, each in compared.items() if each.best] == ["a", "b"]


def test_correction_is_over_all_tasks_together():
    tables = [compare_with_best({"a": [5, 6, 7], "b": [3, 4, 5]}) for _ in range(2)]
    one = tables[0]["b"].p
    both = corrected(tables)
    assert both[0]["b"].p == pytest.approx(2 * one)
    assert both[1]["b"].p == pytest.approx(2 * one)


# Aggregates over tasks


@given(st.lists(values, min_size=1, max_size=30))
def test_interquartile_mean_is_the_trimmed_mean_of_scipy(sample):
    ours = float(interquartile_mean(np.asarray(sample)))
    assert ours == pytest.approx(stats.trim_mean(sample, 0.25), abs=1e-9)


def test_interquartile_mean_by_hand():
    assert interquartile_mean(np.array([100, 0, 3, 4, 5, 6, -50, 1.0])) == (1 + 3 + 4 + 5) / 4


def test_the_bootstrap_keeps_to_the_tasks():
    # No spread within tasks: whatever is drawn, the scores are the same.
    scores = {"a": np.zeros(3), "b": np.ones(5)}
    mean = lambda x: x.mean(axis=-1)  # noqa: E731
    result = stratified_interval(scores, mean)
    assert result.value == pytest.approx(5 / 8)
    assert result.low == result.high == pytest.approx(5 / 8)


def test_the_stratified_bootstrap_equals_a_plain_loop():
    scores = {"a": np.array([0.1, 0.5, 0.2]), "b": np.array([0.7, 0.9])}
    rng = np.random.default_rng(3)
    plain = []
    for _ in range(4000):
        drawn = sorted(rng.choice(each) for each in scores.values() for _ in each)
        plain.append(sum(drawn[1:4]) / 3)  # of five scores the lowest and the highest go
    ours = stratified_interval(scores, resamples=4000)
    low, high = np.percentile(plain, [2.5, 97.5])
    assert (ours.low, ours.high) == pytest.approx((low, high), abs=0.04)


def test_a_task_without_scores_and_single_seeds_are_said():
    empty = stratified_interval({"a": np.array([1.0, 2.0]), "b": np.array([math.nan])})
    assert "without b" in empty.note
    single = stratified_interval({"a": np.array([1.0]), "b": np.array([2.0])})
    assert math.isnan(single.low)
    assert "one seed per task" in single.note


def test_profile_is_the_share_of_runs_above_each_threshold():
    scores = {"a": np.array([0.0, 1.0]), "b": np.array([0.5, 0.5, 0.5, 0.9])}
    share, low, high = performance_profile(scores, np.array([-1, 0.4, 0.5, 0.95, 1.0]))
    assert share == pytest.approx([1, 0.75, (0.5 + 0.25) / 2, 0.25, 0])
    assert (low <= share).all()
    assert (share <= high).all()


def test_probability_of_improvement_is_u_over_nm_averaged_over_tasks():
    x = {"a": np.array([3.0, 1.0]), "b": np.array([1.0, 1.0])}
    y = {"a": np.array([2.0, 0.0]), "b": np.array([1.0, 0.0])}
    result = probability_of_improvement(x, y)
    u = [stats.mannwhitneyu(x[t], y[t]).statistic / 4 for t in x]
    assert result.value == pytest.approx(np.mean(u)) == pytest.approx((0.75 + 0.75) / 2)
    assert result.low <= result.value <= result.high


def test_improvement_over_oneself_is_a_half():
    scores = {"a": np.array([1.0, 2.0, 3.0])}
    assert probability_of_improvement(scores, scores).value == 0.5


def test_improvement_without_a_common_task_is_said():
    result = probability_of_improvement({"a": np.ones(2)}, {"b": np.ones(2)})
    assert math.isnan(result.value)
    assert "no task" in result.note


def test_scores_are_normalised_by_the_range_over_all_algorithms():
    raw = {"x": {"a": np.array([0.0, 5.0])}, "y": {"a": np.array([10.0, math.nan])}}
    bounds = bounds_of(raw)
    assert bounds == {"a": (0.0, 10.0)}
    assert normalised(raw["x"]["a"], bounds["a"]) == pytest.approx([0.0, 0.5])
    assert np.isnan(normalised(np.ones(2), (1.0, 1.0))).all()


# Sample efficiency


def test_kaplan_and_meier_on_the_6_mp_trial():
    moments, remaining = survival([abs(x) for x in REMISSION], [x > 0 for x in REMISSION])
    assert moments.tolist() == [6, 7, 10, 13, 16, 22, 23]
    published = [0.857, 0.807, 0.753, 0.690, 0.627, 0.538, 0.448]
    assert remaining == pytest.approx(published, abs=5e-4)
    median = Times(np.abs(np.asarray(REMISSION, float)), np.asarray(REMISSION) > 0, 0.0).median
    assert median == 23


def test_survival_equals_scipy():
    times = np.array([3.0, 5, 5, 8, 9, 9])
    seen = np.array([True, True, False, True, False, True])
    theirs = stats.ecdf(stats.CensoredData.right_censored(times, ~seen)).sf
    moments, remaining = survival(times, seen)
    at = [theirs.quantiles.tolist().index(m) for m in moments]
    assert remaining == pytest.approx(theirs.probabilities[at])


def test_steps_to_a_return_with_runs_that_never_reach_it():
    rows = [[0, 0.5, 1.0], [0, 0.1, 0.2], [0, 0.6, np.nan], [np.nan] * 3]
    times = steps_to(curves(rows, steps=[0, 100, 200]), 0.5)
    assert times.steps.tolist() == [100, 200, 100]
    assert times.reached.tolist() == [True, False, True]
    assert times.median == 100
    assert times.text() == "100 (2 of 3 seeds)"


def test_if_fewer_than_half_arrive_the_median_is_not_invented():
    times = steps_to(curves([[0, 1], [0, 0], [0, 0]], steps=[0, 100]), 1.0)
    assert math.isnan(times.median)
    assert times.text() == "more than 100 (1 of 3 seeds)"


def test_a_run_cut_short_before_the_target_is_censored_where_it_was_last_seen():
    times = steps_to(curves([[0, np.nan, np.nan]], steps=[0, 100, 200]), 0.5)
    assert (times.steps.tolist(), times.reached.tolist()) == ([0.0], [False])
