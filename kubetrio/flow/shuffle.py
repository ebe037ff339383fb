"""Shuffle sharding: a flow's hash deals it a small hand out of a level's queues.

A flow may wait in any queue of its hand, so a heavy flow can fill its own hand but seldom the
whole hand of another flow.  One 64-bit hash is read as a number in mixed radix: the first card is
its remainder by the deck size, the second the remainder of the quotient by one less, and so on.
Each remainder names a card among those *not yet dealt*.  Over any full cycle of
``deck * (deck - 1) * ...`` consecutive hashes every ordered hand occurs exactly once.  A hash has
2^64 values, which is not a whole number of cycles, so some hands have one more hash than others;
hands that would need more than 60 bits are refused, which keeps that excess below one in 16, and
for the default of 8 out of 64 queues below one in 90,000.

Source: KEP-1040, "Assignment of requests to queues".
"""

from __future__ import annotations

import hashlib
import math

MAX_ENTROPY_BITS = 60
MAX_DECK_SIZE = 1 << 26
# Hands remembered per dealer: a few hundred bytes each, and a deal costs a few microseconds.
_REMEMBERED_HANDS = 4096


def flow_hash(schema: str, distinguisher: str) -> int:
    """The 64-bit hash of a flow: the entropy of its hand.

    Args:
        schema: name of the FlowSchema.
        distinguisher: user name, namespace or empty.
    """
    digest = hashlib.sha256(f"{schema}\0{distinguisher}".encode()).digest()
    return int.from_bytes(digest[:8], "little")


def required_entropy_bits(deck_size: int, hand_size: int) -> int:
    """Bits of hash that dealing a hand consumes, rounded up; slightly more than exact."""
    return math.ceil(math.log2(deck_size) * hand_size)


class Dealer:
    """Deals hands of ``hand_size`` distinct cards out of ``range(deck_size)``.

    Args:
        deck_size: number of queues.
        hand_size: number of queues a flow may use.

    Raises:
        ValueError: sizes that cannot be dealt from a 64-bit hash.
    """

    __slots__ = ("_hands", "deck_size", "hand_size")

    def __init__(self, deck_size: int, hand_size: int) -> None:
        if not 1 <= hand_size <= deck_size <= MAX_DECK_SIZE:
            raise ValueError(f"cannot deal a hand of {hand_size} from a deck of {deck_size}")
        bits = required_entropy_bits(deck_size, hand_size)
        if bits > MAX_ENTROPY_BITS:
            raise ValueError(
                f"a hand of {hand_size} from a deck of {deck_size} takes {bits} bits of entropy, "
                f"more than {MAX_ENTROPY_BITS}"
            )
        self.deck_size = deck_size
        self.hand_size = hand_size
        self._hands: dict[int, tuple[int, ...]] = {}

    def deal(self, hash_value: int) -> tuple[int, ...]:
        """The hand of a hash, in the order dealt; the same hash always gets the same hand.

        Args:
            hash_value: an unsigned 64-bit number.
        """
        hand = self._hands.get(hash_value)
        if hand is None:
            hand = self._deal(hash_value)
            if len(self._hands) >= _REMEMBERED_HANDS:
                self._hands.clear()
            self._hands[hash_value] = hand
        return hand

    def _deal(self, hash_value: int) -> tuple[int, ...]:
        ranks: list[int] = []
        hand: list[int] = []
        for left in range(self.deck_size, self.deck_size - self.hand_size, -1):
            hash_value, rank = divmod(hash_value, left)
            # `rank` counts only undealt cards: undo one deal after the other, latest first.
            card = rank
            for earlier in reversed(ranks):
                if card >= earlier:
                    card += 1
            ranks.append(rank)
            hand.append(card)
        return tuple(hand)
