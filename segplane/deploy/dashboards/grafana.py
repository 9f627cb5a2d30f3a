"""Dashboards as Grafana's JSON, by its Foundation SDK."""

import string

from grafana_foundation_sdk.builders import common, dashboard, prometheus, stat, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import common as models
from grafana_foundation_sdk.models import dashboard as dashboard_models

from segplane.deploy.dashboards.panels import DashboardContent, PanelContent

_SOURCE = dashboard_models.DataSourceRef(type_val="prometheus", uid="$datasource")
_PANEL_HEIGHT, _STAT_HEIGHT = 8, 4


def json_of(content: DashboardContent) -> str:
    """Return the JSON of a dashboard, with a datasource and installations to choose."""
    builder = (
        dashboard.Dashboard(content.title)
        .uid(content.uid)
        .description(content.description)
        .tags(["segplane"])
        .refresh("30s")
        .time("now-3h", "now")
        .timezone("browser")
        .tooltip(dashboard_models.DashboardCursorSync.CROSSHAIR)
        .with_variable(
            dashboard.DatasourceVariable("datasource").label("Prometheus").type("prometheus")
        )
        .with_variable(_installations())
    )
    for title, panels in content.rows.items():
        builder = builder.with_row(dashboard.Row(title))
        for panel in panels:
            builder = builder.with_panel(_panel(panel))
    return str(JSONEncoder(sort_keys=True, indent=2).encode(builder.build())) + "\n"


def _installations() -> dashboard.QueryVariable:
    """Return the variable of installations; `All` has targets without the label, too."""
    return (
        dashboard.QueryVariable("installation")
        .label("Installation")
        .datasource(_SOURCE)
        .query("label_values(segplane_build_info, installation)")
        .refresh(dashboard_models.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .multi(True)
        .include_all(True)
        .all_value(".*")
    )


def _panel(panel: PanelContent) -> stat.Panel | timeseries.Panel:
    builder = stat.Panel() if panel.is_stat else _diagram(panel)
    builder = (
        builder.title(panel.title)
        .description(panel.description)
        .datasource(_SOURCE)
        .unit(panel.unit)
        .span(panel.width)
        .height(_STAT_HEIGHT if panel.is_stat else _PANEL_HEIGHT)
    )
    for ref_id, query in zip(string.ascii_uppercase, panel.queries, strict=False):
        builder = builder.with_target(
            prometheus.Dataquery()
            .ref_id(ref_id)
            .expr(query.expression)
            .legend_format(query.legend)
            .range()
        )
    return builder


def _diagram(panel: PanelContent) -> timeseries.Panel:
    mode = models.StackingMode.NORMAL if panel.is_stacked else models.StackingMode.NONE
    return (
        timeseries.Panel()
        .axis_soft_min(0)
        .fill_opacity(10)
        .stacking(common.StackingConfig().mode(mode))
        .legend(
            common.VizLegendOptions().show_legend(True).placement(models.LegendPlacement.BOTTOM)
        )
        .tooltip(common.VizTooltipOptions().mode(models.TooltipDisplayMode.MULTI))
    )
