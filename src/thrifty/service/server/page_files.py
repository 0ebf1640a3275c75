"""The files of the page, and the routes that serve them."""

from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import Response

from thrifty.service.server.answers import error_answer

FOLDER = Path(__file__).parent.parent / "page"
TYPES = {  # not those of the system, which may say anything
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
HEADERS = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": (
        "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "object-src 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def page_router() -> APIRouter:
    """Routes for the page at / and its files at /page/NAME, which are read once, here."""
    files = {
        path.name: (path.read_bytes(), TYPES[path.suffix])
        for path in FOLDER.iterdir()
        if path.suffix in TYPES
    }
    index = files.pop("index.html")
    router = APIRouter(include_in_schema=False)

    @router.api_route("/", methods=["GET", "HEAD"])
    async def page() -> Response:
        content, kind = index
        return Response(content, media_type=kind, headers=HEADERS)

    @router.api_route("/page/{name}", methods=["GET", "HEAD"])
    async def file(name: str) -> Response:
        if name not in files:
            missing = error_answer(404, "page", "there is no such file")
            missing.headers.update(HEADERS)
            return missing
        content, kind = files[name]
        return Response(content, media_type=kind, headers=HEADERS)

    return router
