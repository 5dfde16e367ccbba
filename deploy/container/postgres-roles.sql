-- The roles and the database of docs/postgresql.md, made by the image on an empty volume. psql reads the passwords: no environment has them.
\set owner_password `cat /run/secrets/owner-password`
\set store_password `cat /run/secrets/store-password`
CREATE ROLE pushline_owner LOGIN PASSWORD :'owner_password';
CREATE ROLE pushline LOGIN PASSWORD :'store_password';
CREATE DATABASE pushline OWNER pushline_owner ENCODING 'UTF8' TEMPLATE template0;
GRANT pg_read_all_stats TO pushline;
