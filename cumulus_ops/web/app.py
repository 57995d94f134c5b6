"""The addresses of the pages, who may read them, and what browsers are told about them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from importlib.resources import files
from typing import Annotated

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Query, Request, Response
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse
from starlette.concurrency import run_in_threadpool

from cumulus_ops.config import Project
from cumulus_ops.errors import CumulusError
from cumulus_ops.web import pages
from cumulus_ops.web.coordination import coordination_page, coordination_picture
from cumulus_ops.web.opened import Opened
from cumulus_ops.web.rendering import render
from cumulus_ops.web.reports import report_address, report_file

__all__ = ["MayRead", "create_app"]

#: Given a request and a project's name: returns if who asks may read about it, and raises an HTTPException otherwise.
MayRead = Callable[[Request, str], Awaitable[None]]

#: Pages load their own style and script and nothing else, and are framed by pages of their own host only.
POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'"
)
#: Reports and pictures bring their style along, and have no scripts.
STATIC_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Frame-Options": "SAMEORIGIN",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
STATIC = {"style.css": "text/css", "theme.js": "text/javascript", "icon.svg": "image/svg+xml"}
EPOCHS_PER_PAGE = 100


def create_app(projects: Callable[[], Sequence[Project]], may_read: MayRead) -> FastAPI:
    """The application.

    Args:
        projects: gives the projects, as their files are now.
        may_read: who may read about which of them; asked before anything is looked up.
    """
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.state.projects = projects
    app.middleware("http")(_with_headers)
    app.add_exception_handler(CumulusError, _problem)

    async def allowed(request: Request, project: str) -> None:
        await may_read(request, project)

    @app.get("/")
    async def start(request: Request) -> Response:
        """Where the only project is, or the names of all, if they may all be read."""
        try:
            names = [project.name for project in await run_in_threadpool(projects)]
        except CumulusError as problem:  # who asks is not known yet, and what is wrong is not for everybody
            raise HTTPException(503, "the project cannot be read: `cumulus doctor` says why") from problem
        for name in names:
            await may_read(request, name)
        if len(names) == 1:
            return RedirectResponse(f"{request.scope['root_path']}/{names[0]}/")
        return HTMLResponse(render("start.html", request, names=sorted(names)))

    app.add_api_route("/static/{name}", _static, methods=["GET"])
    app.include_router(ROUTES, prefix="/{project}", dependencies=[Depends(allowed)])
    return app


async def _with_headers(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
    response = await call_next(request)
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    return response


def _problem(request: Request, error: Exception) -> Response:
    """What a person is told instead of a page."""
    return HTMLResponse(render("problem.html", request, error=error), status_code=503)


def _static(name: str) -> Response:
    if name not in STATIC:
        raise HTTPException(404)
    text = files("cumulus_ops.web").joinpath("static", name).read_bytes()
    return Response(text, media_type=STATIC[name], headers={"Cache-Control": "max-age=3600"})


def _opened(request: Request, project: str) -> Opened:
    found = next((p for p in request.app.state.projects() if p.name == project), None)
    if found is None:
        raise HTTPException(404, f"no project {project}")
    return Opened(found)


Found = Annotated[Opened, Depends(_opened)]
#: What a catalog can count to.
Before = Annotated[int | None, Query(ge=0, lt=1 << 62)]
ROUTES = APIRouter()


@ROUTES.get("/")
def _overview(request: Request, found: Found) -> HTMLResponse:
    return HTMLResponse(render("overview.html", request, **pages.overview_page(found)))


@ROUTES.get("/views/{view}")
def _view(request: Request, found: Found, view: str) -> HTMLResponse:
    return HTMLResponse(render("view.html", request, **_or_404(pages.view_page(found, view))))


@ROUTES.get("/views/{view}/dataflow.svg")
def _dataflow(found: Found, view: str) -> Response:
    picture = pages.dataflow(found, view)
    if picture is None:
        raise HTTPException(404)
    return Response(picture, media_type="image/svg+xml", headers={"Content-Security-Policy": STATIC_POLICY})


@ROUTES.get("/epochs")
def _epochs(request: Request, found: Found, before: Before = None) -> HTMLResponse:
    return HTMLResponse(render("epochs.html", request, **pages.epochs_page(found, before, EPOCHS_PER_PAGE)))


@ROUTES.get("/epochs/{epoch}")
def _epoch(request: Request, found: Found, epoch: int) -> HTMLResponse:
    return HTMLResponse(render("epoch.html", request, **_or_404(pages.epoch_page(found, epoch))))


@ROUTES.get("/epochs/{epoch}/report")
def _report(request: Request, found: Found, epoch: int) -> Response:
    """The report of an epoch, or the page about the epoch, which says why there is none."""
    base = f"{request.scope['root_path']}/{found.project.name}"
    address = report_address(found.project, epoch)
    return RedirectResponse(f"{base}/reports/{address}" if address else f"{base}/epochs/{epoch}")


@ROUTES.get("/coordination")
def _coordination(request: Request, found: Found) -> HTMLResponse:
    return HTMLResponse(render("coordination.html", request, **coordination_page(found)))


@ROUTES.get("/coordination.svg")
def _coordination_picture(found: Found) -> Response:
    picture = coordination_picture(found)
    return Response(picture, media_type="image/svg+xml", headers={"Content-Security-Policy": STATIC_POLICY})


@ROUTES.get("/quarantine")
def _quarantine(request: Request, found: Found) -> HTMLResponse:
    return HTMLResponse(render("quarantine.html", request, **pages.quarantine_page(found)))


@ROUTES.get("/reports/{path:path}")
def _report_file(found: Found, path: str) -> Response:
    file = report_file(found.project.reports, path)
    if file is None:
        raise HTTPException(404)
    return FileResponse(file, media_type="text/html", headers={"Content-Security-Policy": STATIC_POLICY})


def _or_404(values: dict[str, object] | None) -> dict[str, object]:
    if values is None:
        raise HTTPException(404)
    return values
