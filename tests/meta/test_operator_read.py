"""The role operator-read: it reads what operators see, and changes nothing."""

import pytest
from sqlalchemy import text

from meta.config import Settings
from meta.errors import RoleRefused, UpgradeUnfinished
from meta.roles import Role
from meta.v1 import catalog_pb2
from meta.v1 import operations_pb2 as pb
from tests.support.meta.guarded import guarded

LIST = pb.ListAccessTokensRequest()


def test_its_first_token_waits_until_the_upgrade_is_finished(meta_settings: Settings) -> None:
    with guarded(meta_settings) as guard:
        with guard.running.database.write() as tx:
            tx.execute(text("UPDATE meta_state SET least_release = '0.3.0'"))

        with pytest.raises(UpgradeUnfinished, match="the role operator-read"):
            guard.token(Role.OPERATOR_READ)

        assert not guard.admin.operations.ListAccessTokens(LIST).tokens


def test_it_sees_tokens_without_their_secrets_and_changes_nothing(meta_settings: Settings) -> None:
    with guarded(meta_settings) as guard:
        guard.token(Role.CATALOG)
        with guard.client(Role.OPERATOR_READ) as reader:
            tokens = reader.operations.ListAccessTokens(LIST).tokens

            assert [each.role for each in tokens] == ["catalog", "operator-read"]
            assert all(len(each.token_hint) < 8 for each in tokens)
            with pytest.raises(RoleRefused):
                reader.catalog.CreateDataset(catalog_pb2.CreateDatasetRequest(name="web"))
            with pytest.raises(RoleRefused):
                reader.operations.RevokeAccessToken(
                    pb.RevokeAccessTokenRequest(token_id=tokens[0].id)
                )
