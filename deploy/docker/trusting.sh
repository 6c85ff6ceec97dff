#!/bin/sh
# Runs a command of a build that trusts the certificate authorities of the secret `ca_bundle`, where there is one.
if [ -s /run/secrets/ca_bundle ]; then
    export SSL_CERT_FILE=/run/secrets/ca_bundle PIP_CERT=/run/secrets/ca_bundle REQUESTS_CA_BUNDLE=/run/secrets/ca_bundle
fi
exec "$@"
