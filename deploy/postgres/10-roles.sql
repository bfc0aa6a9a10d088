-- The role of the service, `shunt_service`: it reads and writes rows and calls functions, and cannot change the schema. That is
-- left to `shunt migrate`, which connects as the owner of the database, here `shunt`.
--
-- Run it once in the database of the service, as a superuser or as an owner who may create roles; then
-- `\password shunt_service`. The order does not matter: it covers what is there, and what migrations will add.
CREATE ROLE shunt_service LOGIN;
GRANT USAGE ON SCHEMA public TO shunt_service;

GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO shunt_service;
GRANT SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA public TO shunt_service;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO shunt_service;

ALTER DEFAULT PRIVILEGES FOR ROLE shunt IN SCHEMA public
    GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO shunt_service;
ALTER DEFAULT PRIVILEGES FOR ROLE shunt IN SCHEMA public GRANT SELECT, UPDATE ON SEQUENCES TO shunt_service;
ALTER DEFAULT PRIVILEGES FOR ROLE shunt IN SCHEMA public GRANT EXECUTE ON FUNCTIONS TO shunt_service;

-- Before Postgres 15 every role may create tables there.
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
