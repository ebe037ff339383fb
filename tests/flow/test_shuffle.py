"""Shuffle sharding: exact dealing, and the published table of collision probabilities."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.flow.shuffle import MAX_ENTROPY_BITS, Dealer, flow_hash, required_entropy_bits

# Hand size, queues, and the probability that 1, 4 or 16 elephants squish a given mouse, as
# published in the Kubernetes documentation ("API Priority and Fairness", example configurations).
PUBLISHED = [
    (12, 32, 4.428838398950118e-09, 0.11431348830099144, 0.9935089607656024),
    (10, 32, 1.550093439632541e-08, 0.0626479840223545, 0.9753101519027554),
    (10, 64, 6.601827268370426e-12, 0.00045571320990370776, 0.49999929150089345),
    (9, 64, 3.6310049976037345e-11, 0.00045501212304112273, 0.4282314876454858),
    (8, 64, 2.25929199850899e-10, 0.0004886697053040446, 0.35935114681123076),
    (8, 128, 6.994461389026097e-13, 3.4055790161620863e-06, 0.02746173137155063),
    (7, 128, 1.0579122850901972e-11, 6.960839379258192e-06, 0.02406157386340147),
    (7, 256, 7.597695465552631e-14, 6.728547142019406e-08, 0.0006709661542533682),
    (6, 256, 2.7134626662687968e-12, 2.9516464018476436e-07, 0.0008895654642000348),
    (6, 512, 4.116062922897309e-14, 4.982983350480894e-09, 2.26025764343413e-05),
    (6, 1024, 6.337324016514285e-16, 8.09060164312957e-11, 4.517408062903668e-07),
]
ELEPHANTS = (1, 4, 16)


def squish_probability(hand: int, deck: int, elephants: int) -> float:
    """Chance that a random hand lies within the union of other random hands, by combinatorics.

    The size of the union is a Markov chain: with ``u`` cards covered, the next hand brings ``n``
    new ones with hypergeometric probability.
    """
    covered = {0: 1}  # union size -> number of ways, out of comb(deck, hand) ** hands dealt
    for _ in range(elephants):
        after: Counter[int] = Counter()
        for size, ways in covered.items():
            for new in range(min(hand, deck - size) + 1):
                drawn = math.comb(deck - size, new) * math.comb(size, hand - new)
                after[size + new] += ways * drawn
        covered = dict(after)
    inside = sum(ways * math.comb(size, hand) for size, ways in covered.items())
    return float(Fraction(inside, math.comb(deck, hand) ** (elephants + 1)))


@pytest.mark.parametrize(("hand", "deck", "p1", "p4", "p16"), PUBLISHED)
def test_published_table_by_combinatorics(
    hand: int, deck: int, p1: float, p4: float, p16: float
) -> None:
    """The published probabilities are those of ideal hands, exactly."""
    for elephants, published in zip(ELEPHANTS, (p1, p4, p16), strict=True):
        assert squish_probability(hand, deck, elephants) == pytest.approx(published, rel=1e-9)


@pytest.mark.parametrize(("hand", "deck", "p1", "p4", "p16"), PUBLISHED)
def test_published_table_by_dealing(hand: int, deck: int, p1: float, p4: float, p16: float) -> None:
    """Hands dealt from real flow hashes collide as often as published, within chance."""
    dealer = Dealer(deck, hand)
    hands = [
        sum(1 << card for card in dealer._deal(flow_hash(f"schema-{hand}-{deck}", f"user-{i}")))
        for i in range(6800)
    ]
    for elephants, published in zip(ELEPHANTS, (p1, p4, p16), strict=True):
        trials = squished = 0
        for first in range(0, len(hands) - elephants, elephants + 1):
            union = 0
            for other in hands[first + 1 : first + 1 + elephants]:
                union |= other
            squished += not hands[first] & ~union
            trials += 1
        # Four and a half standard deviations: one false alarm in 150,000; plus one, as the
        # normal approximation is none where next to nothing is expected.
        slack = 4.5 * math.sqrt(trials * published * (1 - published)) + 1
        assert abs(squished - trials * published) <= slack


@pytest.mark.parametrize(("deck", "hand"), [(1, 1), (4, 2), (5, 3), (6, 6), (7, 1)])
def test_every_hand_once_in_a_cycle(deck: int, hand: int) -> None:
    """Consecutive hashes deal every ordered hand exactly once: no bias, no missing hand."""
    dealer = Dealer(deck, hand)
    dealt = [dealer.deal(value) for value in range(math.perm(deck, hand))]
    assert sorted(dealt) == sorted(permutations(range(deck), hand))


@pytest.mark.parametrize("row", PUBLISHED)
def test_no_modulo_bias_to_speak_of(row: tuple[int, int, float, float, float]) -> None:
    """No hand is likelier than another by more than one sixteenth, at the entropy limit."""
    hand, deck = row[:2]
    cycle = math.perm(deck, hand)
    fewest, extra = divmod(2**64, cycle)
    assert fewest >= 16
    assert (1 if extra else 0) / fewest <= 1 / 16


@settings(max_examples=100)
@given(st.integers(0, 2**64 - 1), st.sampled_from([(64, 8), (128, 6), (32, 12), (1, 1), (5, 5)]))
def test_hands_are_distinct_cards(value: int, sizes: tuple[int, int]) -> None:
    """A hand has the right number of distinct cards of the deck, and is dealt alike again."""
    dealer = Dealer(*sizes)
    hand = dealer.deal(value)
    assert len(set(hand)) == len(hand) == sizes[1]
    assert all(0 <= card < sizes[0] for card in hand)
    assert dealer.deal(value) is hand


def test_cards_are_uniform() -> None:
    """Over many flows every queue is dealt about equally often (chi-square)."""
    dealer = Dealer(64, 8)
    seen: Counter[int] = Counter()
    for i in range(8000):
        seen.update(dealer._deal(flow_hash("schema", f"user-{i}")))
    expected = 8000 * 8 / 64
    chi_square = sum((seen[card] - expected) ** 2 / expected for card in range(64))
    assert chi_square < 63 + 5 * math.sqrt(2 * 63)


def test_flow_hash_is_the_documented_one() -> None:
    """The first eight bytes, little endian, of SHA-256 over name, zero byte, distinguisher."""
    # printf 'service-accounts\\0alice' | sha256sum: f9a4cd6ae3f74dc9...
    assert flow_hash("service-accounts", "alice") == 0xC94DF7E36ACDA4F9
    assert flow_hash("a", "bc") != flow_hash("ab", "c")


@pytest.mark.parametrize(("deck", "hand"), [(0, 1), (4, 5), (4, 0), (2**27, 1)])
def test_impossible_sizes(deck: int, hand: int) -> None:
    """A hand is at least one card and no more than the deck, which is not absurdly large."""
    with pytest.raises(ValueError, match="cannot deal"):
        Dealer(deck, hand)


def test_entropy_limit() -> None:
    """Hands that need more than 60 bits of the hash are refused, those that need 60 are not."""
    assert required_entropy_bits(32, 12) == MAX_ENTROPY_BITS
    Dealer(32, 12)
    with pytest.raises(ValueError, match="65 bits of entropy, more than 60"):
        Dealer(32, 13)


def test_remembered_hands_are_bounded() -> None:
    """A dealer forgets hands rather than remember those of ever more flows."""
    dealer = Dealer(8, 2)
    for value in range(10_000):
        dealer.deal(value)
    assert len(dealer._hands) <= 4096
