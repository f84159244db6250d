"""A small battery of tests of the bits, on NumPy: those of other libraries are the same.

Keys are fixed, so a test that passes does so always. Each p-value is to be above 1/1000 (and below 999/1000 where too
good a fit is as suspicious as too bad a one).
"""

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from xpand_extensions import random

WORDS = 2**17


def _of_one_key() -> np.ndarray:
    return random.bits(random.key(11), (WORDS,), np.uint32)


def _of_split_keys() -> np.ndarray:
    """The first word of each of many keys that were split."""
    keys = random.split(random.key(12), WORDS // 64)
    return np.concatenate([random.bits(key, (64,), np.uint32) for key in keys])


def _of_folded_keys() -> np.ndarray:
    """The first words of a key and one number after the other."""
    key = random.key(13)
    return np.concatenate([random.bits(random.fold_in(key, i), (64,), np.uint32) for i in range(WORDS // 64)])


def _of_near_seeds() -> np.ndarray:
    return np.concatenate([random.bits(random.key(i), (64,), np.uint32) for i in range(WORDS // 64)])


STREAMS = {f.__name__[4:]: f() for f in (_of_one_key, _of_split_keys, _of_folded_keys, _of_near_seeds)}


def _bits(words: np.ndarray) -> np.ndarray:
    return np.unpackbits(words.view(np.uint8))


def _two_sided(z: float) -> float:
    return 2.0 * float(stats.norm.sf(abs(z)))


def monobit(words: np.ndarray) -> float:
    """As many ones as zeros."""
    bits = _bits(words)
    return _two_sided((2.0 * int(bits.sum()) - bits.size) / math.sqrt(bits.size))


def each_bit(words: np.ndarray) -> float:
    """As many ones as zeros in each of the 32 places."""
    ones = np.asarray([np.sum(words >> np.uint32(i) & np.uint32(1), dtype=np.int64) for i in range(32)])
    z = (2.0 * ones - words.size) / math.sqrt(words.size)
    return float(stats.chi2.sf(np.sum(z**2), 32))


def runs(words: np.ndarray) -> float:
    """As many changes from bit to bit as not."""
    bits = _bits(words)
    changes = int(np.sum(bits[1:] != bits[:-1]))
    return _two_sided((2.0 * changes - (bits.size - 1)) / math.sqrt(bits.size - 1))


def octets(words: np.ndarray) -> float:
    """All bytes equally often."""
    return float(stats.chisquare(np.bincount(words.view(np.uint8), minlength=256)).pvalue)


def serial_pairs(words: np.ndarray) -> float:
    """All pairs of the upper six bits of neighbours equally often."""
    upper = (words >> np.uint32(26)).reshape(-1, 2).astype(np.int64)
    return float(stats.chisquare(np.bincount(upper[:, 0] * 64 + upper[:, 1], minlength=4096)).pvalue)


def autocorrelation(words: np.ndarray) -> float:
    """No correlation of words at distances up to 64, where streams of split keys begin anew."""
    x = words / 2.0**32 - 0.5
    z = [12.0 * float(x[lag:] @ x[:-lag]) / math.sqrt(x.size - lag) for lag in range(1, 65)]
    return float(stats.chi2.sf(np.sum(np.square(z)), len(z)))


def birthday_spacings(words: np.ndarray) -> float:
    """As many equal distances between ordered birthdays as there should be: Poisson, in all years together."""
    birthdays, days = 512, 2**24
    years = np.sort((words >> np.uint32(8)).reshape(-1, birthdays).astype(np.int64), axis=1)
    spacings = np.sort(np.diff(years, axis=1), axis=1)
    equal = int(np.sum(spacings[:, 1:] == spacings[:, :-1]))
    mean = birthdays**3 / (4.0 * days) * years.shape[0]
    return min(1.0, 2.0 * min(float(stats.poisson.cdf(equal, mean)), float(stats.poisson.sf(equal - 1, mean))))


def collisions(words: np.ndarray) -> float:
    """As many balls that fall into an urn that isn't empty as there should be."""
    urns = 2**22
    balls = words.size
    taken = np.unique(words >> np.uint32(10)).size
    empty = urns * (1.0 - 1.0 / urns) ** balls
    mean = balls - urns + empty
    return _two_sided((balls - taken - mean) / math.sqrt(mean))


def matrix_rank(words: np.ndarray) -> float:
    """As many matrices of 32 rows of bits of each rank as there should be."""
    rows = words.reshape(-1, 32).astype(np.uint64).copy()
    ranks = np.zeros(rows.shape[0], dtype=np.int64)
    for i in range(32):
        has = (rows >> np.uint64(i) & np.uint64(1)).astype(bool)
        found = has.any(axis=1)
        pivot = np.where(found, has.argmax(axis=1), 0)
        row = np.take_along_axis(rows, pivot[:, None], axis=1)
        rows = np.where(has, rows ^ row, rows)  # the pivot becomes 0, and is out
        ranks += found
    full = math.prod(1.0 - 2.0**-k for k in range(1, 33))
    one_less = 2.0 * full
    observed = [int(np.sum(ranks == 32)), int(np.sum(ranks == 31)), int(np.sum(ranks < 31))]
    expected = np.asarray([full, one_less, 1.0 - full - one_less]) * ranks.size
    return float(stats.chisquare(observed, expected).pvalue)


def gaps(words: np.ndarray) -> float:
    """Gaps between words of the first eighth as long as they should be: geometric."""
    places = np.flatnonzero(words < 2**29)
    lengths = np.minimum(np.diff(places) - 1, 40)
    expected = stats.geom(0.125, loc=-1).pmf(np.arange(40))
    expected = np.append(expected, 1.0 - expected.sum()) * lengths.size
    return float(stats.chisquare(np.bincount(lengths, minlength=41), expected).pvalue)


def permutations(words: np.ndarray) -> float:
    """All orders of four neighbours equally often."""
    order = np.argsort(words.reshape(-1, 4), axis=1)
    codes = order @ np.asarray([64, 16, 4, 1])
    counts = np.bincount(codes, minlength=256)
    assert np.count_nonzero(counts) <= 24
    return float(stats.chisquare(np.sort(counts)[-24:]).pvalue)


TESTS = [
    monobit,
    each_bit,
    runs,
    octets,
    serial_pairs,
    autocorrelation,
    birthday_spacings,
    collisions,
    matrix_rank,
    gaps,
    permutations,
]


@pytest.mark.parametrize("test", TESTS, ids=lambda test: test.__name__)
@pytest.mark.parametrize("stream", STREAMS)
def test_bits(stream: str, test: Callable[[np.ndarray], float]) -> None:
    assert 1e-3 < test(STREAMS[stream]) <= 1.0


@pytest.mark.parametrize("test", TESTS, ids=lambda test: test.__name__)
def test_the_battery_finds_what_is_not_random(test: Callable[[np.ndarray], float]) -> None:
    """Of a linear congruential generator of 2³² numbers with few good bits, or of words counted up."""
    counted = np.arange(WORDS, dtype=np.uint32) * np.uint32(2654435769)
    coarse = (STREAMS["one_key"] >> np.uint32(24)) * np.uint32(0x01010101)
    biased = STREAMS["one_key"] | (random.bits(random.key(1), (WORDS,), np.uint32) & STREAMS["split_keys"] >> 3)
    assert min(test(words) for words in (counted, coarse, biased)) < 1e-3


def test_streams_are_not_correlated() -> None:
    streams = list(STREAMS.values())
    centred = [x / 2.0**32 - 0.5 for x in streams]
    for i, x in enumerate(centred):
        for y in centred[:i]:
            assert _two_sided(12.0 * float(x @ y) / math.sqrt(x.size)) > 1e-3
    bits = [_bits(x) for x in streams]
    for i, x in enumerate(bits):
        for y in bits[:i]:
            assert _two_sided((2.0 * int(np.sum(x ^ y)) - x.size) / math.sqrt(x.size)) > 1e-3


def test_all_words_of_a_long_stream_are_equally_likely() -> None:
    # In the upper, middle and lower bits of 64.
    words = random.bits(random.key(8), (2**18,), np.uint64)
    for shift in (0, 26, 52):
        counts = np.bincount((words >> np.uint64(shift) & np.uint64(4095)).astype(np.int64), minlength=4096)
        assert stats.chisquare(counts).pvalue > 1e-3


def test_uniform_and_normal_numbers_follow_their_laws() -> None:
    for dtype in (np.float32, np.float64):
        assert stats.kstest(random.uniform(random.key(2), (100_000,), dtype), stats.uniform.cdf).pvalue > 1e-3
        assert stats.kstest(random.normal(random.key(3), (100_000,), dtype), stats.norm.cdf).pvalue > 1e-3
    integers = random.randint(random.key(4), (100_000,), 0, 100)
    assert stats.chisquare(np.bincount(integers, minlength=100)).pvalue > 1e-3
    heads = int(random.bernoulli(random.key(5), 0.3, (1_000_000,)).sum())
    assert stats.binomtest(heads, 1_000_000, 0.3).pvalue > 1e-3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_means_and_variances(dtype: type) -> None:
    """Of a million numbers: a scale that is off by 1/200 is found, which other tests let pass."""
    count = 1_000_000
    u = random.uniform(random.key(6), (count,), dtype).astype(np.float64) - 0.5
    x = random.normal(random.key(7), (count,), dtype).astype(np.float64)
    for numbers, variance, fourth in ((u, 1 / 12, 1 / 80), (x, 1.0, 3.0)):
        assert _two_sided(numbers.mean() * math.sqrt(count / variance)) > 1e-3
        spread = math.sqrt((fourth - variance**2) / count)
        assert _two_sided((np.mean(numbers**2) - variance) / spread) > 1e-3
