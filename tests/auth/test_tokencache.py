"""What is remembered of tokens: for how long, how much, and for whom."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
import trio
import trio.testing

from kubetrio.auth.authenticate import Authenticator, BadCredentials
from kubetrio.auth.background import Background
from kubetrio.auth.tokencache import MOST_BYTES, MOST_ENTRIES, CachedTokens, families_of
from kubetrio.auth.tokens import Found
from kubetrio.env import Env, seeded
from kubetrio.machinery.identity import UserInfo

OWN = ("api",)


class Method:
    """Knows tokens that begin with ``good``; counts who asks."""

    name = "counted"

    def __init__(self) -> None:
        self.asked: list[tuple[bytes, tuple[str, ...]]] = []
        self.wait: Callable[[], Awaitable[object]] = trio.lowlevel.checkpoint
        self.found: Callable[[bytes], Found | None] = lambda token: (
            Found(UserInfo(token.decode())) if token.startswith(b"good") else None
        )

    async def authenticate_token(self, token: bytes, audiences: tuple[str, ...]) -> Found | None:
        self.asked.append((token, audiences))
        await self.wait()
        if token.startswith(b"bad"):
            raise BadCredentials("bad")
        return self.found(token)


def cache_of(
    method: Method, env: Env | None = None, *, good_s: float = 10.0, bad_s: float = 10.0
) -> CachedTokens:
    return CachedTokens(method, env or seeded(1), Background(), good_s=good_s, bad_s=bad_s)


async def ask(cache: CachedTokens, token: bytes, audiences: tuple[str, ...] = OWN) -> Found | None:
    found = cache.authenticate_token(token, audiences)
    return found if found is None or isinstance(found, Found) else await found


async def test_answers_are_remembered_for_their_time(autojump_clock: object) -> None:
    """Users and their absence, each as long as it was said, and not a second more."""
    method = Method()
    cache = cache_of(method, good_s=10, bad_s=3)
    for token, life in ((b"good", 10.0), (b"nobody", 3.0)):
        method.asked.clear()
        await ask(cache, token)
        await trio.sleep(life - 0.1)
        await ask(cache, token)
        assert len(method.asked) == 1
        await trio.sleep(0.2)
        await ask(cache, token)
        assert len(method.asked) == 2


async def test_a_time_of_nothing_remembers_nothing() -> None:
    """Each is asked about each time."""
    method = Method()
    cache = cache_of(method, good_s=0, bad_s=0)
    for token in (b"good", b"nobody") * 3:
        await ask(cache, token)
    assert len(method.asked) == 6
    assert cache.fill() == (0, 0)


async def test_errors_are_not_remembered() -> None:
    """What went wrong may go right the next time."""
    method = Method()
    cache = cache_of(method)
    for _ in range(3):
        with pytest.raises(BadCredentials):
            await ask(cache, b"bad")
    assert len(method.asked) == 3


async def test_a_user_is_not_remembered_beyond_the_token(autojump_clock: object) -> None:
    """When a token expires it is asked about again, however long answers are kept."""
    env, method = seeded(1), Method()
    cache = cache_of(method, env, good_s=3600)
    ends = env.now() + 5
    method.found = lambda token: Found(UserInfo("jane"), expires=ends)
    await ask(cache, b"good")
    await trio.sleep(4.9)
    await ask(cache, b"good")
    assert len(method.asked) == 1
    await trio.sleep(0.2)
    await ask(cache, b"good")
    assert len(method.asked) == 2


async def test_audiences_have_answers_of_their_own() -> None:
    """Neither are token and audiences run together."""
    method = Method()
    cache = cache_of(method)
    asked = [(b"good", ("a", "b")), (b"good", ("ab",)), (b"gooda", ("b",)), (b"good", ())]
    for token, audiences in asked:
        await ask(cache, token, audiences)
    assert method.asked == asked


async def test_who_asks_for_the_same_waits_for_one_answer() -> None:
    """A hundred requests with one token are one call, also when the first goes away."""
    method, background, begun = Method(), Background(), trio.Event()
    cache = CachedTokens(method, seeded(1), background, good_s=10, bad_s=10)
    method.wait = begun.wait
    answers: list[Found | None] = []

    async def one() -> None:
        answers.append(await ask(cache, b"good"))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(background.run)
        await trio.testing.wait_all_tasks_blocked()
        with trio.CancelScope() as leaving:
            async with trio.open_nursery() as first:
                first.start_soon(one)
                await trio.testing.wait_all_tasks_blocked()
                leaving.cancel()
        async with trio.open_nursery() as others:
            for _ in range(100):
                others.start_soon(one)
            await trio.testing.wait_all_tasks_blocked()
            begun.set()
        nursery.cancel_scope.cancel()
    assert len(method.asked) == 1
    assert len(answers) == 100
    assert all(answers)


async def test_an_answer_that_never_comes_is_given_up(autojump_clock: object) -> None:
    """Half a minute, then it is an error for all who wait."""
    method = Method()
    method.wait = trio.sleep_forever
    cache = cache_of(method)
    began = trio.current_time()
    with pytest.raises(BadCredentials, match="deadline exceeded"):
        await ask(cache, b"good")
    assert trio.current_time() - began == 30.0


async def test_a_flood_of_tokens_takes_bounded_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest go, by count."""
    monkeypatch.setattr("kubetrio.auth.tokencache.MOST_ENTRIES", 100)
    cache = cache_of(Method())
    for number in range(300):
        await ask(cache, b"nobody%d" % number)
    assert cache.fill()[0] == 100
    assert MOST_ENTRIES * 256 <= MOST_BYTES


async def test_large_users_take_bounded_room() -> None:
    """By bytes; what is larger than a sixteenth of all is not kept."""
    method = Method()
    method.found = lambda token: Found(UserInfo("x" * 900_000))
    cache = cache_of(method)
    for number in range(40):
        await ask(cache, b"good%d" % number)
    count, size = cache.fill()
    assert size <= MOST_BYTES
    assert 10 < count < 20
    method.found = lambda token: Found(UserInfo("x" * 2_000_000))
    await ask(cache, b"huge")
    assert cache.fill() == (count, size)


async def test_what_is_forgotten_is_asked_again() -> None:
    """Also what was on its way meanwhile."""
    method = Method()
    cache = cache_of(method)
    await ask(cache, b"good")

    async def forget() -> None:
        cache.forget()

    method.wait = forget
    await ask(cache, b"good2")
    assert cache.fill() == (0, 0)


async def test_tokens_are_not_kept() -> None:
    """Only digests under a key of this process."""
    cache = cache_of(Method())
    await ask(cache, b"good-and-secret")
    assert "good-and-secret" not in repr(list(cache._entries))


async def test_hits_and_misses_are_counted() -> None:
    """As upstream counts them."""
    cache = cache_of(Method())
    for _ in range(3):
        await ask(cache, b"good")
    samples = {
        (sample.name, sample.labels.get("status")): sample.value
        for family in families_of(Authenticator([cache], cached=[cache]), [cache])
        for sample in family.samples
    }
    assert samples["authentication_token_cache_request_total", "hit"] == 2
    assert samples["authentication_token_cache_request_total", "miss"] == 1
    assert samples["authentication_token_cache_fetch_total", "ok"] == 1
