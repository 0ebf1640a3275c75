"""The service with one route more, which only reads a request and sends it back: `python -m
benchmarks.echo STORE`; prints its address.
"""

import socket
import sys

import uvicorn
from fastapi import Request, Response

from thrifty.service.server.answers import answer
from thrifty.service.server.app import make_app
from thrifty.service.server.routes import Decisions
from thrifty.service.server.serving import server_config, tune_collector


def main() -> None:
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    app = make_app(sys.argv[1], address)

    @app.post("/echo")
    async def echo(request: Request, asked: Decisions) -> Response:
        many = isinstance(asked, list)
        items = asked if isinstance(asked, list) else [asked]
        found = [one.model_dump(exclude_none=True) for one in items]
        return answer(found if many else found[0])

    tune_collector()
    print(address, flush=True)
    uvicorn.Server(server_config(app)).run(sockets=[listening])


if __name__ == "__main__":
    main()
