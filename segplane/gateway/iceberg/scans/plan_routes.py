"""Routes by which clients have scans planned by the catalog."""

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from segplane.gateway.http.bodies import answer
from segplane.gateway.http.readers import DatasetScope
from segplane.gateway.iceberg import responses
from segplane.gateway.iceberg.access.access_routes import Actions
from segplane.gateway.iceberg.responses import read_object, refuse
from segplane.gateway.iceberg.scans.scan_plans import ScanPlanner

_TABLE = "/v1/{prefix}/namespaces/{namespace}/tables/{table}"
PLAN_ENDPOINTS = (
    f"POST {_TABLE}/plan",
    f"DELETE {_TABLE}/plan/{{plan-id}}",
    f"POST {_TABLE}/tasks",
)


class PlanRoutes:
    """Answers planTableScan, fetchScanTasks, fetchPlanningResult and cancelPlanning."""

    def __init__(self, planner: ScanPlanner) -> None:
        self._planner = planner

    def actions(self) -> Actions:
        """Return the routes below a table, by method and name."""
        return {
            ("POST", "plan"): self.plan,
            ("POST", "tasks"): self.fetch,
            ("GET", "plan/"): self.find,
            ("DELETE", "plan/"): self.cancel,
        }

    async def plan(self, request: Request, table: str, scope: DatasetScope) -> Response:
        """Plan a scan."""
        body = await read_object(request)
        return await run_in_threadpool(lambda: answer(self._planner.plan(table, scope, body)))

    async def fetch(self, request: Request, table: str, scope: DatasetScope) -> Response:
        """Give a further page of a plan."""
        body = await read_object(request)
        return await run_in_threadpool(lambda: answer(self._planner.fetch(table, scope, body)))

    async def find(self, _: Request, __: str, ___: DatasetScope) -> Response:
        """Refuse: nothing is kept of a plan."""
        message = "plans are complete in the answer to POST plan and are not kept: plan again"
        return refuse(responses.NO_PLAN, message)

    async def cancel(self, _: Request, __: str, ___: DatasetScope) -> Response:
        """End a plan, of which nothing is kept."""
        return Response(status_code=204)
