"""Roles and their assignments for a container of Azure Blob Storage."""

from collections.abc import Iterator

from segplane.deploy.model import ACCOUNTS
from segplane.deploy.policies.google import permissions

_BLOBS = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs"
_ACTIONS = {
    "Get": ("read",),
    "Create": ("write", "add/action"),
    "Delete": ("delete",),
    "List": ("read",),
}
# Azure lists by the right to read; conditions tell the two apart.
_NO_LIST = f"(!(ActionMatches{{'{_BLOBS}/read'}} AND SubOperationMatches{{'Blob.List'}}))"
_LIST_ONLY = f"(!(ActionMatches{{'{_BLOBS}/read'}} AND NOT SubOperationMatches{{'Blob.List'}}))"


def of_container(container: str, path: str, group: str, account: str) -> dict[str, object]:
    """Return four roles and their assignments to the accounts of the model.

    `group` is the id of a resource group, `account` the name of the storage account. Assignees are
    names, to be replaced by the object ids of the identities.
    """
    scope = (
        f"{group}/providers/Microsoft.Storage/storageAccounts/{account}"
        f"/blobServices/default/containers/{container}"
    )
    roles = [
        {
            "Name": f"Segplane {name}",
            "Description": f"Segplane: {name.lower()} objects",
            "Actions": [],
            "DataActions": [f"{_BLOBS}/{action}" for action in actions],
            "AssignableScopes": [group],
        }
        for name, actions in _ACTIONS.items()
    ]
    assignments = [
        {
            "assignee": f"segplane-{assignee}",
            "role": f"Segplane {role}",
            "scope": scope,
            "condition": condition,
        }
        for assignee, role, condition in _assignments(path)
    ]
    return {"roles": roles, "assignments": assignments}


def _assignments(path: str) -> Iterator[tuple[str, str, str]]:
    for assignee, rights in ACCOUNTS.items():
        for role, roots in permissions(rights):
            paths = (f"@Resource[{_BLOBS}:path] StringStartsWith '{path}{root}'" for root in roots)
            condition = f"({' OR '.join(paths)})"
            yield assignee, role, f"{_NO_LIST} AND {condition}" if role == "Get" else condition
        if rights.lists_names:
            yield assignee, "List", _LIST_ONLY
