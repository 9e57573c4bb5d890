"""Statistics of bench runs: task-weighted means, bootstrap intervals over tasks, pass@k and pass^k.

Belongs here: formulas on plain numbers. Does not belong here: which attempts belong to a run (`projection.py`).

A task's score is the mean of its scored attempts; a run's score is the mean over tasks, each weighing the same however
many attempts it has. Tasks are what is drawn from a population, so tasks are what the bootstrap draws.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb
from statistics import NormalDist, fmean, variance
from typing import Final

import numpy as np
import numpy.typing as npt

PASS: Final = 0.999
"""A score from here on is a pass."""
CONFIDENCE: Final = 0.95

Scores = Mapping[str, Sequence[float]]
"""Task to the scores of its attempts; attempts without a score are not in it."""

_NORMAL = NormalDist()
_CHUNK = 4_000_000


@dataclass(frozen=True)
class Interval:
    """A mean with its interval; the ends are None where fewer than two tasks leave nothing to draw."""

    mean: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Comparison:
    """Two runs on the tasks both have scores for, second minus first."""

    tasks: int
    first: float
    second: float
    difference: Interval
    p_value: float | None
    """Two-sided sign-flip permutation test over tasks; None with fewer than two tasks."""
    gained: tuple[str, ...]
    """Tasks that the first run did not pass in most attempts and the second did."""
    lost: tuple[str, ...]
    better: int
    worse: int
    equal: int
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]


@dataclass(frozen=True)
class VarianceSplit:
    """Where the spread of attempt scores comes from."""

    between_tasks: float
    """Variance of the tasks' true means, repeats' noise taken out, not below 0."""
    within_tasks: float
    """Mean variance of repeats of one task."""


def task_means(scores: Scores) -> dict[str, float]:
    """Mean score of each task that has one, by task id."""
    return {task: fmean(values) for task, values in sorted(scores.items()) if values}


def mean_interval(scores: Scores, *, resamples: int, seed: int, confidence: float = CONFIDENCE) -> Interval | None:
    """Task-weighted mean with a BCa bootstrap interval over tasks; None when no attempt is scored.

    BCa: bias-corrected and accelerated (Efron 1987), the acceleration by the jackknife. Where all tasks score the same
    the interval is that one point: resampling cannot show what no task shows, so it is not a certainty.
    """
    means = list(task_means(scores).values())
    if not means:
        return None
    low, high = bca_interval(means, resamples=resamples, seed=seed, confidence=confidence)
    return Interval(fmean(means), low, high)


def bca_interval(
    values: Sequence[float], *, resamples: int, seed: int, confidence: float = CONFIDENCE
) -> tuple[float | None, float | None]:
    """BCa bootstrap interval of the mean of `values`; (None, None) for fewer than two."""
    if len(values) < 2:
        return None, None
    data = np.asarray(values, dtype=np.float64)
    mean = float(data.mean())
    if float(data.min()) == float(data.max()):
        return float(data[0]), float(data[0])
    draws = resampled_means(data, resamples=resamples, seed=seed)
    # Draws equal to the estimate count half, else discrete scores bias the correction.
    tolerance = 1e-12 * max(1.0, abs(mean))
    below = float(np.mean(draws < mean - tolerance) + np.mean(np.abs(draws - mean) <= tolerance) / 2)
    bias = _NORMAL.inv_cdf(min(max(below, 0.5 / resamples), 1 - 0.5 / resamples))
    centred = data - mean  # what the jackknife gives for a mean, up to a factor that cancels
    acceleration = float((centred**3).sum()) / (6 * float((centred**2).sum()) ** 1.5)
    ends = []
    for probability in ((1 - confidence) / 2, (1 + confidence) / 2):
        z = bias + _NORMAL.inv_cdf(probability)
        ends.append(_NORMAL.cdf(bias + z / (1 - acceleration * z)))
    low, high = np.quantile(draws, ends)
    return float(low), float(high)


def resampled_means(values: npt.NDArray[np.float64], *, resamples: int, seed: int) -> npt.NDArray[np.float64]:
    """Means of `resamples` draws with replacement, the same ones for the same seed; memory is bounded."""
    generator = np.random.Generator(np.random.PCG64(seed))
    size = len(values)
    step = max(1, _CHUNK // size)
    parts = [
        values[generator.integers(0, size, (min(step, resamples - done), size))].mean(axis=1)
        for done in range(0, resamples, step)
    ]
    return np.concatenate(parts)


def pass_at_k(attempts: int, passed: int, k: int) -> float:
    """Unbiased estimate of the chance that at least one of k attempts passes (Chen et al. 2021).

    Raises:
        ValueError: k is not between 1 and the number of attempts.
    """
    _check_k(attempts, passed, k)
    return 1.0 - comb(attempts - passed, k) / comb(attempts, k)


def pass_hat_k(attempts: int, passed: int, k: int) -> float:
    """Unbiased estimate of the chance that all of k attempts pass, written pass^k (Yao et al. 2024).

    Raises:
        ValueError: k is not between 1 and the number of attempts.
    """
    _check_k(attempts, passed, k)
    return comb(passed, k) / comb(attempts, k)


def suite_pass(scores: Scores, k: int) -> tuple[float | None, float | None, float | None]:
    """(pass@1, pass@k, pass^k), each the mean over tasks.

    pass@1 is over tasks with a score; the others over tasks with at least k scored attempts, None where there are none.
    """
    counted = {task: (len(v), sum(value >= PASS for value in v)) for task, v in scores.items() if v}
    full = [(n, c) for n, c in counted.values() if n >= k]
    first = fmean(c / n for n, c in counted.values()) if counted else None
    if not full or k < 1:
        return first, None, None
    return first, fmean(pass_at_k(n, c, k) for n, c in full), fmean(pass_hat_k(n, c, k) for n, c in full)


def variance_split(scores: Scores) -> VarianceSplit | None:
    """Spread between tasks and between repeats of a task; None without two tasks that have two scored attempts."""
    repeated = [values for values in scores.values() if len(values) >= 2]
    if len(repeated) < 2:
        return None
    within = fmean(variance(values) for values in repeated)
    noise = fmean(variance(values) / len(values) for values in repeated)
    return VarianceSplit(max(0.0, variance([fmean(values) for values in repeated]) - noise), within)


def compare_scores(
    first: Scores, second: Scores, *, resamples: int, seed: int, confidence: float = CONFIDENCE
) -> Comparison:
    """Paired comparison on common tasks: differences of task means are drawn, so the tasks' difficulty cancels."""
    one, two = task_means(first), task_means(second)
    common = sorted(one.keys() & two.keys())
    differences = [two[task] - one[task] for task in common]
    low, high = bca_interval(differences, resamples=resamples, seed=seed, confidence=confidence)
    mean = fmean(differences) if differences else 0.0
    passed_one, passed_two = (
        {task for task in common if sum(v >= PASS for v in scores[task]) * 2 > len(scores[task])}
        for scores in (first, second)
    )
    return Comparison(
        tasks=len(common),
        first=fmean(one[task] for task in common) if common else 0.0,
        second=fmean(two[task] for task in common) if common else 0.0,
        difference=Interval(mean, low, high),
        p_value=sign_flip_p(differences, resamples=resamples, seed=seed),
        gained=tuple(sorted(passed_two - passed_one)),
        lost=tuple(sorted(passed_one - passed_two)),
        better=sum(value > 1e-12 for value in differences),
        worse=sum(value < -1e-12 for value in differences),
        equal=sum(abs(value) <= 1e-12 for value in differences),
        only_first=tuple(sorted(one.keys() - two.keys())),
        only_second=tuple(sorted(two.keys() - one.keys())),
    )


def sign_flip_p(differences: Sequence[float], *, resamples: int, seed: int) -> float | None:
    """Two-sided p-value that the mean difference is 0, by flipping signs: exact up to 14 tasks, else drawn."""
    size = len(differences)
    if size < 2:
        return None
    data = np.asarray(differences, dtype=np.float64)
    observed = abs(float(data.mean())) - 1e-12
    if size <= 14:
        signs = 1 - 2 * ((np.arange(2**size)[:, None] >> np.arange(size)) & 1)
        return float(np.mean(np.abs((signs * data).mean(axis=1)) >= observed))
    generator = np.random.Generator(np.random.PCG64(seed))
    step = max(1, _CHUNK // size)
    hits = 0
    for done in range(0, resamples, step):
        signs = 1 - 2 * generator.integers(0, 2, (min(step, resamples - done), size))
        hits += int(np.sum(np.abs((signs * data).mean(axis=1)) >= observed))
    return (hits + 1) / (resamples + 1)


def _check_k(attempts: int, passed: int, k: int) -> None:
    if not (1 <= k <= attempts and 0 <= passed <= attempts):
        raise ValueError(
            f"k={k}, attempts={attempts}, passed={passed}: needs 1 <= k <= attempts and 0 <= passed <= attempts"
        )
