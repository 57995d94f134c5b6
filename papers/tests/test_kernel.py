"""What the simulator promises to protocols, and what it asks of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from cumulus_papers.kernel import Costs, Disorder, Here, Message, NotAFunction, Simulation, size_bytes


@dataclass(frozen=True)
class Number(Message):
    value: int


class Recorder:
    """Remembers what it receives, and passes it on."""

    def __init__(self, here: Here, to: tuple[str, ...] = ()) -> None:
        self.here, self.to, self.seen = here, to, []

    def receive(self, message: Number, sender: str) -> None:
        self.seen.append((sender, message.value))
        for receiver in self.to:
            self.here.send(receiver, message)


def simulated(seed: int, disorder: Disorder, count: int = 60) -> Simulation:
    simulation = Simulation(seed, Costs(), disorder)
    simulation.add("c", Recorder)
    for name in ("a", "b"):
        simulation.add(name, lambda here: Recorder(here, ("c",)))
    for i in range(count):
        simulation.inject(i * 1e-4, "ab"[i % 2], Number(i))
    simulation.run()
    return simulation


WILD = Disorder(delay_s=5e-3, slow=0.3, pauses=300, restarts=300, outage_s=2e-3)


@pytest.mark.parametrize("seed", range(5))
def test_pairs_are_in_order_and_nothing_is_lost_while_different_pairs_overtake_each_other(seed):
    seen = simulated(seed, WILD).actor("c").seen
    for sender in "ab":
        own = [value for by, value in seen if by == sender]
        assert own == sorted(own)
        assert len(own) == 30
    assert [value for _, value in seen] != sorted(value for _, value in seen)


def test_one_seed_is_one_run_and_another_seed_another():
    runs = [simulated(seed, WILD) for seed in (1, 1, 2)]
    assert runs[0].trace == runs[1].trace
    assert runs[0].trace != runs[2].trace
    assert runs[0].disturbances["restart"]
    assert runs[0].disturbances["pause"]


def test_sending_takes_the_senders_time_one_message_for_each_recipient():
    costs = Costs(send_s=1.0, byte_s=0.1, handle_s=0.0, latency_s=5.0)
    simulation = Simulation(0, costs)
    names = [f"r{i}" for i in range(3)]
    for name in names:
        simulation.add(name, Recorder)
    simulation.add("s", lambda here: Recorder(here, tuple(names)))
    simulation.inject(0.0, "s", Number(1))
    simulation.inject(0.0, "s", Number(2))
    simulation.run()
    sent = [s for s in simulation.trace if s.receiver in names]
    each = 1.0 + 0.1 * size_bytes(Number(1))
    assert sorted(s.sent_s for s in sent) == pytest.approx([each * i for i in range(1, 7)])
    assert all(s.arrived_s == pytest.approx(s.sent_s + 5.0) for s in sent)
    assert simulation.messages == {"Number": 6}
    assert simulation.bytes == {"Number": 6 * size_bytes(Number(1))}


def test_what_an_actor_sends_itself_is_not_transmitted():
    class Self(Recorder):
        def receive(self, message: Number, sender: str) -> None:
            super().receive(message, sender)
            if message.value:
                self.here.send("x", Number(message.value - 1))

    simulation = Simulation(0)
    simulation.add("x", Self)
    simulation.inject(0.0, "x", Number(3))
    simulation.run()
    assert [value for _, value in simulation.actor("x").seen] == [3, 2, 1, 0]
    assert not simulation.messages
    assert simulation.local == {"Number": 3}


class Counting:
    """Its answers depend on something that a restart does not bring back."""

    outside = 0

    def __init__(self, here: Here) -> None:
        self.here = here

    def receive(self, message: Number, sender: str) -> None:
        Counting.outside += 1
        if Counting.outside % 2:
            self.here.send("c", message)


def test_an_actor_that_is_no_function_of_what_it_received_is_found_when_it_restarts():
    simulation = Simulation(3, disorder=Disorder(restarts=2000, outage_s=1e-4))
    simulation.add("c", Recorder)
    simulation.add("a", Counting)
    for i in range(40):
        simulation.inject(i * 1e-4, "a", Number(i))
    with pytest.raises(NotAFunction, match="a did"):
        simulation.run()


def test_it_is_quiet_while_only_the_background_is_due_and_not_while_a_buffer_waits():
    quiet: list[float] = []

    class Waiting(Recorder):
        def receive(self, message: Number, sender: str) -> None:
            if message.value == 1:
                self.here.after(1.0, Number(2))
            if message.value == 2:
                self.here.after(5.0, Number(3), background=True)

    simulation = Simulation(0, Costs(handle_s=0.0))
    simulation.add("x", Waiting)
    simulation.on_quiet.append(lambda: quiet.append(simulation.now))
    simulation.inject(0.0, "x", Number(1))
    simulation.run()
    assert quiet == [1.0]


def test_a_run_that_does_not_end_says_so():
    endless: Callable[[Here], Recorder] = lambda here: Recorder(here, ("x",))  # noqa: E731
    simulation = Simulation(0, handled_max=100)
    simulation.add("x", endless)
    simulation.inject(0.0, "x", Number(1))
    with pytest.raises(AssertionError, match="no end"):
        simulation.run()
