-- The library with its audit log, its functions and its roles.

SET LOCAL ROLE :"owner";
DROP SCHEMA semblance_projects CASCADE;
DROP SCHEMA semblance CASCADE;
SET LOCAL ROLE :"audit";
DROP SCHEMA semblance_audit CASCADE;
ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO PUBLIC;
SET LOCAL ROLE :"owner";
ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO PUBLIC;
RESET ROLE;
REVOKE ALL ON DATABASE :"database" FROM :"owner";
DROP ROLE :"administrator", :"curator", :"annotator", :"reader", :"project_annotator", :"project_reader", :"audit", :"owner";
