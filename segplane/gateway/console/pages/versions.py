"""The past of a dataset, and the map of its segments."""

from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from segplane.gateway.console.addresses import dataset_of
from segplane.gateway.console.operate.segment_map import (
    GENERATIONS,
    MAP_SECS,
    SEGMENTS_PATH,
    read_map,
)
from segplane.gateway.console.operate.shared_reads import SharedReads
from segplane.gateway.console.operate.showing import show
from segplane.gateway.console.operate.versions import VERSIONS_PATH, VersionAsk, read_versions
from segplane.gateway.console.templating import Templates
from segplane.gateway.console.viewer import Page, Viewer
from segplane.gateway.http.refusals import QueryRefusal
from segplane.gateway.queries.service import QueryService

_DIGITS_MAX = 18
_NAME_CHARACTERS_MAX = 255


class VersionPages:
    """Pages about the versions and the segments of one dataset."""

    def __init__(self, queries: QueryService, templates: Templates) -> None:
        self._reads = SharedReads(queries)
        self._templates = templates

    def pages(self) -> dict[str, Page]:
        """Return the page of each method and path."""
        return {f"GET {VERSIONS_PATH}": self._versions, f"GET {SEGMENTS_PATH}": self._segments}

    async def _versions(self, request: Request, viewer: Viewer) -> Response:
        text = request.query_params.get("version", "").strip()
        if text and not (text.isascii() and text.isdecimal() and len(text) <= _DIGITS_MAX):
            raise QueryRefusal(f"version is {text[:40]!r}, expected a number")
        ask = VersionAsk(_name(request), int(text) if text else None)
        # Owners of pins are shown to themselves.
        reading = await self._reads.read(
            viewer, ("versions", ask), partial(read_versions, ask=ask), is_personal=True
        )
        return await show(
            self._templates,
            "versions",
            request,
            viewer,
            reading,
            "Dataset",
            active_dataset=ask.dataset,
        )

    async def _segments(self, request: Request, viewer: Viewer) -> Response:
        name = _name(request)
        reading = await self._reads.read(
            viewer, ("segments", name), partial(read_map, dataset=name), kept_secs=MAP_SECS
        )
        return await show(
            self._templates,
            "segments",
            request,
            viewer,
            reading,
            "Dataset",
            active_dataset=name,
            generations=GENERATIONS,
            columns=[(text, "number") for text in GENERATIONS],
        )


def _name(request: Request) -> str:
    """Return the dataset of an address. Raises QueryRefusal."""
    name = dataset_of(request.query_params)
    if len(name) > _NAME_CHARACTERS_MAX:
        raise QueryRefusal(f"the name has {len(name):,} characters, expected at most 255")
    return name
