"""What the scripts here share: the market's other users, who speak XML, and waiting for what is to become so.

The server and the key come from the environment: PRICETIME_HTTP and PRICETIME_XML (host:port), API_KEY, API_SECRET. Account 1,
the key's, begins with 100,000 dollars and 500 shares of SPY; accounts 2 and 3 have plenty, also of QQQ.
"""

import asyncio
import os
import random
import re
import socket
import threading
import time

HTTP = os.environ["PRICETIME_HTTP"]
XML = os.environ["PRICETIME_XML"]
KEY = os.environ["API_KEY"]
SECRET = os.environ["API_SECRET"]

PATIENCE_S = 30


class XmlUser:
    """An account that trades over XML."""

    def __init__(self, account):
        host, port = XML.rsplit(":", 1)
        self.account = account
        self.socket = socket.create_connection((host, int(port)), timeout=PATIENCE_S)
        self.file = self.socket.makefile("rb")

    def ask(self, body):
        request = body.encode()
        self.socket.sendall(b"%d\n%s" % (len(request), request))
        reply = b""
        while not reply.endswith(b"</results>\n"):
            line = self.file.readline()
            assert line, f"the server ended the connection after {reply}"
            reply += line
        return reply.decode()

    def transact(self, content):
        return self.ask(f'<transactions id="{self.account}">{content}</transactions>')

    def order(self, amount, limit, symbol="SPY"):
        """A negative amount sells. Gives the order's number."""
        reply = self.transact(f'<order sym="{symbol}" amount="{amount}" limit="{limit}"/>')
        opened = re.search(r'<opened [^>]*id="(\d+)"', reply)
        assert opened, reply
        return int(opened[1])

    def cancel(self, order):
        return self.transact(f'<cancel id="{order}"/>')

    def query(self, order):
        return self.transact(f'<query id="{order}"/>')


class Crowd:
    """Two XML users who trade with each other and with everybody, around a price, in a thread of their own."""

    def __init__(self, orders, seed=1, around=100):
        self.left = orders
        self.random = random.Random(seed)
        self.around = around
        self.failed = None
        self.thread = threading.Thread(target=self._run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.thread.join()
        if self.failed:
            raise self.failed

    @property
    def busy(self):
        return self.thread.is_alive()

    def _run(self):
        try:
            users = [XmlUser(2), XmlUser(3)]
            open_orders = []
            while self.left:
                self.left -= 1
                user = self.random.choice(users)
                if open_orders and self.random.random() < 0.3:
                    owner, order = open_orders.pop(self.random.randrange(len(open_orders)))
                    owner.cancel(order)
                    continue
                amount = self.random.choice([-1, 1]) * self.random.randint(1, 400) / 8
                limit = self.around + self.random.randint(-20, 20) / 4
                open_orders.append((user, user.order(amount, limit)))
                time.sleep(0.001)
        except Exception as error:
            self.failed = error


def wait_for(what, found):
    """Looks until there is something, and gives it."""
    until = time.monotonic() + PATIENCE_S
    while True:
        it = found()
        if it:
            return it
        assert time.monotonic() < until, f"waited in vain for {what}"
        time.sleep(0.01)


async def soon(what, awaitable):
    """Awaits something that does not take long."""
    try:
        return await asyncio.wait_for(awaitable, PATIENCE_S)
    except asyncio.TimeoutError:
        raise AssertionError(f"waited in vain for {what}") from None


def refused(kind, call, text=""):
    """A call is refused with an exception of this kind that says this."""
    try:
        answer = call()
    except kind as error:
        assert text in str(error), f"{error!r} does not say {text!r}"
        return error
    raise AssertionError(f"not refused: {answer}")
