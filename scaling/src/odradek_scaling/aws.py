"""Clients of AWS."""

from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError

from odradek_runtime.settings import SettingsError


def create_client(service: str, config: Config) -> Any:
    """A client, in the region that boto3 finds.

    Raises:
        SettingsError: it finds none, or what is said of AWS can't be.
    """
    try:
        return boto3.client(service, config=config)
    except (BotoCoreError, ValueError) as error:
        raise SettingsError(
            f"AWS ({service}): {error}; set AWS_DEFAULT_REGION, and see AWS_PROFILE and AWS_ENDPOINT_URL"
        ) from error
