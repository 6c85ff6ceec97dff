"""What S3's client says, as a person is told of it.

What a server says in its own words is left out, but for its code: it may repeat what it was sent.
"""

import re

from botocore.exceptions import (
    ClientError,
    CredentialRetrievalError,
    HTTPClientError,
    NoCredentialsError,
    PartialCredentialsError,
    ProfileNotFound,
)
from botocore.exceptions import (
    ConnectionError as NoConnection,
)

from odradek_runtime.blobs.errors import StoreRefused, StoreUnavailable

_SOON = (408, 409, 429)
"""Besides 5xx: the answers that may be others in a moment."""

_CREDENTIALS = "give this process valid credentials (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile in AWS_PROFILE, or a role)"
_REGION = "set AWS_DEFAULT_REGION to the bucket's region"
_RIGHTS = "allow this identity s3:GetObject, s3:PutObject and s3:ListBucket (for `odradek blobs gc` s3:DeleteObject too)"
_WHAT_TO_DO = {
    "NoSuchBucket": "there is no such bucket: create it, or correct ODRADEK_BLOB_STORE or AWS_ENDPOINT_URL_S3",
    "AccessDenied": f"access denied: {_RIGHTS}",
    "403": f"access denied: {_RIGHTS}",
    "KMS.DisabledException": "the bucket's key is disabled: enable it",
    "InvalidAccessKeyId": f"the access key is not known there: {_CREDENTIALS}",
    "SignatureDoesNotMatch": f"the secret key is wrong: {_CREDENTIALS}",
    "ExpiredToken": f"the credentials have expired: {_CREDENTIALS}",
    "ExpiredTokenException": f"the credentials have expired: {_CREDENTIALS}",
    "InvalidToken": f"the session token is not valid: {_CREDENTIALS}",
    "RequestTimeTooSkewed": "the clocks of this machine and of the store differ: set them",
    "PermanentRedirect": f"the bucket is in another region: {_REGION}",
    "AuthorizationHeaderMalformed": f"the bucket is in another region: {_REGION}",
    "InvalidBucketName": "the bucket's name is not one: correct ODRADEK_BLOB_STORE",
    "EntityTooLarge": "the value is larger than one object may be",
}


def code_of(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def explained(store: str, error: Exception) -> StoreUnavailable:
    """The failure of a call to `store` as one that its callers know."""
    if isinstance(error, ClientError):
        return _answered(store, error)
    if isinstance(
        error, NoCredentialsError | PartialCredentialsError | CredentialRetrievalError | ProfileNotFound
    ):
        return StoreRefused(f"blob store {store}: no credentials ({type(error).__name__}): {_CREDENTIALS}")
    if isinstance(error, HTTPClientError | NoConnection):
        return StoreUnavailable(f"blob store {store}: {_bare(str(error))}")
    return StoreRefused(f"blob store {store}: {type(error).__name__}: {_bare(str(error))}")


def _answered(store: str, error: ClientError) -> StoreUnavailable:
    code, status = code_of(error), error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    if code in _WHAT_TO_DO:
        return StoreRefused(f"blob store {store}: {_WHAT_TO_DO[code]}")
    kind = StoreUnavailable if status >= 500 or status in _SOON else StoreRefused
    return kind(f"blob store {store}: {error.operation_name} was answered with {status} {code}")


def _bare(text: str) -> str:
    """Addresses without what may stand before their host, or in their query."""
    return re.sub(r"//[^/@\s\"']*@|\?[^\s\"']*", lambda found: "//" if found[0].endswith("@") else "", text)
