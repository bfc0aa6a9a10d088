#!/bin/sh
# Run by the image of Postgres, once, when it makes its database: the password of the role that 10-roles.sql creates.
psql --quiet --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" \
    --set password="${SERVICE_PASSWORD:?}" <<'SQL'
ALTER ROLE shunt_service PASSWORD :'password';
SQL
