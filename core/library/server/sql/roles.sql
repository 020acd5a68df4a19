-- Roles and schemas. Run by the account that makes the library, and again when it opens a restored one; none of these roles can log in, and
-- nobody is a member of the owner and of the audit role but this account, which has to change to them to use them.

GRANT :"project_reader" TO :"project_annotator", :"reader";
GRANT :"project_annotator", :"reader" TO :"annotator";
GRANT :"annotator" TO :"curator";
GRANT :"curator" TO :"administrator";
GRANT :"administrator" TO SESSION_USER;
GRANT :"owner", :"audit" TO SESSION_USER WITH INHERIT FALSE, SET TRUE;
-- Curators let people into projects by a function of the owner, without a right to give roles.
GRANT :"project_reader", :"project_annotator" TO :"owner" WITH ADMIN TRUE, INHERIT FALSE, SET FALSE;

-- Nobody else makes anything here, temporary tables included.
REVOKE ALL ON DATABASE :"database" FROM PUBLIC;
GRANT CONNECT ON DATABASE :"database" TO PUBLIC;
-- For the schemas of projects.
GRANT CREATE ON DATABASE :"database" TO :"owner";
REVOKE CREATE ON SCHEMA public FROM PUBLIC;

CREATE SCHEMA IF NOT EXISTS semblance AUTHORIZATION :"owner";
CREATE SCHEMA IF NOT EXISTS semblance_projects AUTHORIZATION :"owner";
CREATE SCHEMA IF NOT EXISTS semblance_audit AUTHORIZATION :"audit";
