"""Bench statistics against values worked out by hand, by enumeration and by simulation."""

from __future__ import annotations

from itertools import combinations, product
from statistics import NormalDist, fmean

import numpy as np
import pytest

from assets.bench.statistics import (
    bca_interval,
    compare_scores,
    mean_interval,
    pass_at_k,
    pass_hat_k,
    resampled_means,
    sign_flip_p,
    suite_pass,
    task_means,
    variance_split,
)


@pytest.mark.parametrize(("attempts", "passed"), [(n, c) for n in range(1, 7) for c in range(n + 1)])
def test_pass_at_k_and_pass_hat_k_by_enumeration(attempts: int, passed: int) -> None:
    outcomes = [1] * passed + [0] * (attempts - passed)
    for k in range(1, attempts + 1):
        subsets = list(combinations(outcomes, k))
        assert pass_at_k(attempts, passed, k) == pytest.approx(fmean(any(s) for s in subsets))
        assert pass_hat_k(attempts, passed, k) == pytest.approx(fmean(all(s) for s in subsets))


def test_pass_estimates_are_unbiased() -> None:
    """Over many runs of 5 attempts at a chance of .3 the mean estimates are 1-.7^k and .3^k."""
    generator = np.random.default_rng(5)
    passed = generator.binomial(5, 0.3, 40_000)
    for k in (1, 2, 3):
        assert fmean(pass_at_k(5, int(c), k) for c in passed) == pytest.approx(1 - 0.7**k, abs=0.01)
        assert fmean(pass_hat_k(5, int(c), k) for c in passed) == pytest.approx(0.3**k, abs=0.01)


@pytest.mark.parametrize(("attempts", "passed", "k"), [(3, 1, 0), (3, 1, 4), (3, 4, 1), (0, 0, 1), (3, -1, 1)])
def test_impossible_k(attempts: int, passed: int, k: int) -> None:
    for estimate in (pass_at_k, pass_hat_k):
        with pytest.raises(ValueError, match=f"k={k}"):
            estimate(attempts, passed, k)


def test_task_weighted_not_attempt_weighted() -> None:
    scores = {"a": [1.0], "b": [0.0, 0.0, 0.0], "empty": []}
    found = mean_interval(scores, resamples=200, seed=1)
    assert found is not None and found.mean == 0.5
    assert task_means(scores) == {"a": 1.0, "b": 0.0}


def test_draws_match_every_possible_resample() -> None:
    """With four tasks all 4^4 resamples can be listed; the drawn distribution is theirs."""
    values = np.array([0.0, 0.2, 0.9, 1.0])
    everything = np.array([values[list(index)].mean() for index in product(range(4), repeat=4)])
    draws = resampled_means(values, resamples=200_000, seed=3)
    assert draws.mean() == pytest.approx(everything.mean(), abs=0.002)
    assert draws.std() == pytest.approx(everything.std(), abs=0.002)
    levels = np.unique(everything.round(9))
    drawn = np.array([np.mean(np.abs(draws - level) < 1e-9) for level in levels])
    exact = np.array([np.mean(np.abs(everything - level) < 1e-9) for level in levels])
    assert np.abs(drawn - exact).max() < 0.005


def by_the_book(values: list[float], draws: list[float], level: float) -> tuple[float, float]:
    """BCa as Efron and Tibshirani (1993, 14.3) write it, with the jackknife carried out."""
    normal = NormalDist()
    jackknife = [fmean(values[:i] + values[i + 1 :]) for i in range(len(values))]
    centre = fmean(jackknife)
    cubes, squares = sum((centre - j) ** 3 for j in jackknife), sum((centre - j) ** 2 for j in jackknife)
    acceleration = cubes / (6 * squares**1.5)
    bias = normal.inv_cdf(sum(draw < fmean(values) for draw in draws) / len(draws))
    ends = []
    for alpha in ((1 - level) / 2, (1 + level) / 2):
        z = bias + normal.inv_cdf(alpha)
        ends.append(float(np.quantile(draws, normal.cdf(bias + z / (1 - acceleration * z)))))
    return ends[0], ends[1]


def test_bca_by_the_book() -> None:
    skewed = np.random.default_rng(1).beta(0.4, 2.0, 25).tolist()
    draws = resampled_means(np.array(skewed), resamples=20_000, seed=1)
    found = bca_interval(skewed, resamples=20_000, seed=1)
    assert found == pytest.approx(by_the_book(skewed, draws.tolist(), 0.95), abs=1e-9)
    low, high = np.quantile(draws, [0.025, 0.975])
    assert found[0] is not None and found[1] is not None
    assert found[0] > low and found[1] > high + 0.005  # it leans to the long tail
    symmetric = [0.0, 0.25, 0.5, 0.75, 1.0] * 8
    plain = np.quantile(resampled_means(np.array(symmetric), resamples=20_000, seed=1), [0.025, 0.975])
    assert bca_interval(symmetric, resamples=20_000, seed=1) == pytest.approx(tuple(plain), abs=0.01)


def test_the_interval_covers_as_often_as_it_says() -> None:
    """400 samples of 30 tasks from a skewed population: about 95 % of the intervals hold the true mean."""
    generator = np.random.default_rng(11)
    inside = 0
    for trial in range(400):
        sample = generator.beta(0.5, 1.5, 30)  # mean .25
        low, high = bca_interval(sample.tolist(), resamples=600, seed=trial)
        assert low is not None and high is not None
        inside += low <= 0.25 <= high
    assert 0.91 <= inside / 400 <= 0.985


def test_edges_of_the_interval() -> None:
    assert mean_interval({}, resamples=100, seed=1) is None
    assert mean_interval({"a": []}, resamples=100, seed=1) is None
    alone = mean_interval({"a": [0.5, 1.0]}, resamples=100, seed=1)
    assert alone is not None and (alone.mean, alone.low, alone.high) == (0.75, None, None)
    same = mean_interval({"a": [1.0], "b": [1.0]}, resamples=100, seed=1)
    assert same is not None and (same.low, same.high) == (1.0, 1.0)
    mixed = mean_interval({"a": [1.0], "b": [0.0]}, resamples=1000, seed=1)
    assert mixed is not None and mixed.low is not None and mixed.high is not None
    assert 0.0 <= mixed.low < 0.5 < mixed.high <= 1.0


def test_the_seed_decides() -> None:
    scores = {str(i): [i / 17 % 1] for i in range(12)}
    assert mean_interval(scores, resamples=500, seed=4) == mean_interval(scores, resamples=500, seed=4)
    assert mean_interval(scores, resamples=500, seed=4) != mean_interval(scores, resamples=500, seed=5)
    shuffled = dict(reversed(scores.items()))
    assert mean_interval(shuffled, resamples=500, seed=4) == mean_interval(scores, resamples=500, seed=4)


def test_suite_pass() -> None:
    scores = {"a": [1.0, 1.0], "b": [1.0, 0.4], "c": [0.0, 0.9], "short": [1.0], "none": []}
    first, at, hat = suite_pass(scores, 2)
    assert first == pytest.approx((1 + 0.5 + 0 + 1) / 4)
    assert at == pytest.approx(2 / 3) and hat == pytest.approx(1 / 3)
    assert suite_pass({"a": []}, 1) == (None, None, None)
    assert suite_pass({"a": [1.0]}, 2) == (1.0, None, None)
    assert suite_pass({"a": [0.9989]}, 1) == (0.0, 0.0, 0.0) and suite_pass({"a": [0.9995]}, 1)[0] == 1.0


def test_pairing_takes_task_difficulty_out() -> None:
    """A small gain on tasks of very different difficulty: unpaired intervals overlap, the paired one excludes 0."""
    first = {f"t{i:02d}": [i / 20] for i in range(20)}
    second = {task: [values[0] + 0.03 + 0.01 * (i % 3)] for i, (task, values) in enumerate(first.items())}
    one = mean_interval(first, resamples=2000, seed=1)
    two = mean_interval(second, resamples=2000, seed=1)
    assert one is not None and two is not None and one.high is not None and two.low is not None and two.low < one.high
    found = compare_scores(first, second, resamples=2000, seed=1)
    assert found.difference.low is not None and found.difference.high is not None
    assert 0.03 < found.difference.low < found.difference.mean < found.difference.high < 0.05
    assert found.p_value is not None and found.p_value < 0.01
    assert (found.better, found.worse, found.equal) == (20, 0, 0)


def test_comparison_counts_flips_and_what_is_not_common() -> None:
    first = {"up": [0.0], "down": [1.0], "same": [0.5], "gone": [1.0], "half": [1.0, 0.0]}
    second = {"up": [1.0], "down": [0.2], "same": [0.5], "new": [1.0], "half": [1.0, 1.0]}
    found = compare_scores(first, second, resamples=500, seed=1)
    assert (found.gained, found.lost) == (("half", "up"), ("down",))
    assert (found.only_first, found.only_second, found.tasks) == (("gone",), ("new",), 4)
    assert (found.better, found.worse, found.equal) == (2, 1, 1)
    assert found.difference.mean == pytest.approx((1 - 0.8 + 0 + 0.5) / 4)
    mirrored = compare_scores(second, first, resamples=500, seed=1)
    assert mirrored.difference.mean == pytest.approx(-found.difference.mean)
    nothing = compare_scores({"a": [1.0]}, {"b": [1.0]}, resamples=10, seed=1)
    assert (nothing.tasks, nothing.difference.low, nothing.p_value) == (0, None, None)


def test_sign_flip_by_enumeration_and_drawn() -> None:
    data = [0.1, -0.2, 0.3, 0.4]
    flips = [fmean(s * d for s, d in zip(signs, data, strict=True)) for signs in product((1, -1), repeat=4)]
    assert sign_flip_p(data, resamples=10, seed=1) == pytest.approx(
        fmean(abs(f) >= abs(fmean(data)) - 1e-12 for f in flips)
    )
    assert sign_flip_p([0.0] * 5, resamples=10, seed=1) == 1.0
    long = [0.3] * 20
    drawn = sign_flip_p(long, resamples=1000, seed=1)
    assert drawn == pytest.approx(1 / 1001)
    assert sign_flip_p([0.3], resamples=10, seed=1) is None


def test_sign_flip_holds_its_level() -> None:
    """Without a difference, about one in twenty tests is below .05."""
    generator = np.random.default_rng(2)
    below = sum((sign_flip_p(generator.normal(size=10).tolist(), resamples=1, seed=1) or 0) < 0.05 for _ in range(600))
    assert 0.02 < below / 600 < 0.08


def test_variance_split_finds_what_was_put_in() -> None:
    generator = np.random.default_rng(9)
    levels = generator.normal(0.5, 0.3, 3000)
    scores = {str(i): (level + generator.normal(0, 0.2, 4)).tolist() for i, level in enumerate(levels)}
    found = variance_split(scores)
    assert found is not None
    assert found.between_tasks == pytest.approx(0.09, rel=0.1) and found.within_tasks == pytest.approx(0.04, rel=0.1)
    assert variance_split({"a": [1.0], "b": [0.0]}) is None
