"""The addresses of the pages, who may read them, and what browsers are told about them."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from importlib.resources import files
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Query, Request, Response
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException as AnyHTTPException

from cumulus_ops.cli.options import problem_of
from cumulus_ops.project.errors import CumulusError, InputProblem, IntegrityProblem
from cumulus_ops.project.settings import Project
from cumulus_ops.web.charts import render
from cumulus_ops.web.pages import (
    coordination_page,
    coordination_picture,
    dataflow,
    download,
    epoch_page,
    epochs_page,
    overview_page,
    quarantine_page,
    report_address,
    report_file,
    view_page,
)
from cumulus_ops.web.rows import DOWNLOADS, Opened

__all__ = ["MayRead", "create_app"]

log = logging.getLogger(__name__)

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


def create_app(projects: Callable[[], Sequence[Project]], may_read: MayRead, logs: str = "") -> FastAPI:
    """The application.

    Args:
        projects: gives the projects, as their files are now.
        may_read: who may read about which of them; asked before anything is looked up.
        logs: what the addresses of steps' logs begin with on this host.
    """
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.state.projects, app.state.logs = projects, logs
    app.middleware("http")(_with_headers)
    app.add_exception_handler(CumulusError, _show_problem)
    app.add_exception_handler(AnyHTTPException, _refuse)

    async def allowed(request: Request, project: str) -> None:
        await may_read(request, project)
        request.state.may_read = True

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

    app.add_api_route("/static/{name}", _send_static, methods=["GET"])
    app.include_router(ROUTES, prefix="/{project}", dependencies=[Depends(allowed)])
    return app


async def _with_headers(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
    try:
        response = await call_next(request)
    except Exception as error:
        response = _show_failure(request, error)
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    return response


def _show_problem(request: Request, error: Exception) -> Response:
    """What a person is told instead of a page."""
    return HTMLResponse(render("problem.html", request, error=error), status_code=503)


def _show_failure(request: Request, error: Exception) -> Response:
    """The same for what is no error of ours: the catalog's database, a file; or, with less to say, a defect."""
    problem = problem_of(error) if getattr(request.state, "may_read", False) else None
    if problem is not None:
        return _show_problem(request, problem)
    log.error("the page %s could not be made", request.url.path, exc_info=error)
    message = f"this page could not be made, for a reason that nobody has foreseen: {type(error).__name__}"
    hint = "the log of the server of these pages says more; `cumulus doctor` looks at the project and its state, `cumulus fsck` at its files"
    page = render("problem.html", request, error=IntegrityProblem(message, kind="page-failed", hint=hint))
    return HTMLResponse(page, status_code=500)


def _refuse(request: Request, error: Exception) -> Response:
    """Who may not read is refused in the words of who guards the pages; who has come to the wrong place is told so by a page."""
    assert isinstance(error, AnyHTTPException)
    if error.status_code not in (404, 503):
        return JSONResponse({"detail": error.detail}, error.status_code, headers=error.headers)
    said = "there is no such page" if error.detail == "Not Found" else str(error.detail)
    problem = InputProblem(said, kind="no-page")
    return HTMLResponse(render("problem.html", request, error=problem), status_code=error.status_code)


def _send_static(name: str) -> Response:
    if name not in STATIC:
        raise HTTPException(404)
    text = files("cumulus_ops.web").joinpath("static", name).read_bytes()
    return Response(text, media_type=STATIC[name], headers={"Cache-Control": "max-age=3600"})


def _open_project(request: Request, project: str) -> Opened:
    found = next((p for p in request.app.state.projects() if p.name == project), None)
    if found is None:
        raise HTTPException(404, f"no project {project}")
    return Opened(found)


Found = Annotated[Opened, Depends(_open_project)]
#: What a catalog can count to.
Before = Annotated[int | None, Query(ge=0, lt=1 << 62)]
ROUTES = APIRouter()


@ROUTES.get("/")
def _overview(request: Request, found: Found) -> HTMLResponse:
    return HTMLResponse(render("overview.html", request, logs=request.app.state.logs, **overview_page(found)))


@ROUTES.get("/views/{view}")
def _view(request: Request, found: Found, view: str) -> HTMLResponse:
    return HTMLResponse(render("view.html", request, **_or_404(view_page(found, view))))


@ROUTES.get("/views/{view}/rows.{form}")
def _rows(found: Found, view: str, form: str) -> Response:
    if form not in DOWNLOADS:
        raise HTTPException(404)
    rows = download(found, view, form)
    if rows is None:
        raise HTTPException(404)
    named = f"attachment; filename*=UTF-8''{quote(view, safe='')}.{form}"
    return Response(rows, media_type=DOWNLOADS[form], headers={"Content-Disposition": named})


@ROUTES.get("/views/{view}/dataflow.svg")
def _dataflow(found: Found, view: str) -> Response:
    picture = dataflow(found, view)
    if picture is None:
        raise HTTPException(404)
    return Response(picture, media_type="image/svg+xml", headers={"Content-Security-Policy": STATIC_POLICY})


@ROUTES.get("/epochs")
def _epochs(request: Request, found: Found, before: Before = None) -> HTMLResponse:
    return HTMLResponse(render("epochs.html", request, **epochs_page(found, before, EPOCHS_PER_PAGE)))


@ROUTES.get("/epochs/{epoch}")
def _epoch(request: Request, found: Found, epoch: int) -> HTMLResponse:
    return HTMLResponse(render("epoch.html", request, **_or_404(epoch_page(found, epoch))))


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
    return HTMLResponse(render("quarantine.html", request, **quarantine_page(found)))


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
