"""How often strangers may come: each of them, and all together."""

from collections import OrderedDict
from ipaddress import IPv6Address, ip_address

#: Senders that are remembered; when there are more, those who came least lately have a clean slate.
_MOST_SENDERS = 10_000
#: What may come at once after a pause, in seconds of the rate.
_BURST_SECONDS = 10.0


class Throttle:
    """Lets each sender come at a rate, and all together at another.

    What costs more than was left is let in and paid off later, so that large pings can be charged when it is
    known how large they are.

    >>> throttle = Throttle(per_sender=0.1, total=10.0)
    >>> [throttle.admit(sender, at) for sender, at in (("a", 0.0), ("a", 1.0), ("b", 1.0), ("a", 11.0))]
    [True, False, True, True]
    """

    def __init__(self, *, per_sender: float, total: float) -> None:
        self._per_sender, self._total = per_sender, total
        self._all = _Allowance(total)
        self._senders: OrderedDict[str, _Allowance] = OrderedDict()

    def admit(self, sender: str, now: float) -> bool:
        """Whether a sender may come now; if so, that is one of the times."""
        own = self._senders.get(sender)
        if own is None:
            own = self._senders[sender] = _Allowance(self._per_sender)
            if len(self._senders) > _MOST_SENDERS:
                self._senders.popitem(last=False)
        self._senders.move_to_end(sender)
        if own.left(now) < 1 or self._all.left(now) < 1:
            return False
        self.charge(sender, 1.0, now)
        return True

    def charge(self, sender: str, times: float, now: float) -> None:
        """Count what a sender who was admitted costs beyond that."""
        self._all.spend(times, now)
        if sender in self._senders:
            self._senders[sender].spend(times, now)


class _Allowance:
    """What is left of a rate."""

    def __init__(self, per_second: float) -> None:
        self._per_second = per_second
        self._most = max(_BURST_SECONDS * per_second, 1.0)
        self._left, self._at = self._most, float("-inf")

    def left(self, now: float) -> float:
        gained = (now - self._at) * self._per_second if now > self._at else 0.0
        self._left, self._at = min(self._left + gained, self._most), max(now, self._at)
        return self._left

    def spend(self, amount: float, now: float) -> None:
        self._left = self.left(now) - amount


def sender_of(address: str) -> str:
    """Return who has an address: itself, or with IPv6 the network that one customer gets.

    >>> sender_of("192.0.2.7"), sender_of("2001:db8:1:2:3:4:5:6")
    ('192.0.2.7', '2001:db8:1:2')
    """
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is None:
        return ":".join(f"{int(part, 16):x}" for part in parsed.exploded.split(":")[:4])
    return address
