-- Who may do what in a library on a server, with the page `writers`. Two pages, to be checked by eye: whatever is not given here, nobody may.
--
-- Roles: reader < annotator < curator < administrator of the library; project_reader and project_annotator name the
-- tables of projects, whose policies decide. The owner has everything but the audit log, which the audit role has.

-- The audit log: everybody adds what they searched, viewed and exported; curators read; nobody else but its triggers.
SET LOCAL ROLE :"audit";
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA semblance_audit FROM PUBLIC;
ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
GRANT USAGE ON SCHEMA semblance_audit TO :"project_reader", :"owner";
GRANT EXECUTE ON FUNCTION semblance_audit.audit_event(text, text, text) TO :"project_reader";
GRANT EXECUTE ON FUNCTION semblance_audit.seal(), semblance_audit.project_of(text) TO :"curator";
GRANT SELECT ON semblance_audit.audit_log, semblance_audit.audit_head TO :"curator";
GRANT EXECUTE ON FUNCTION
    semblance_audit.is_plain(text, integer), semblance_audit.count_change(), semblance_audit.log_project() TO :"owner";

SET LOCAL ROLE :"owner";

SELECT semblance_projects.share_all('semblance');
SELECT semblance_projects.share_all(place) FROM semblance.projects;

-- Tables that only the library has.
GRANT SELECT ON semblance.alembic_version, semblance.library_roles TO :"reader";
GRANT SELECT ON semblance.projects, semblance.project_members, semblance.project_cases TO :"curator";
GRANT UPDATE (purpose, until, closed) ON semblance.projects TO :"curator";
GRANT DELETE ON semblance.project_members TO :"curator";
GRANT INSERT, UPDATE, DELETE ON semblance.project_cases TO :"curator";
GRANT USAGE ON SCHEMA semblance TO :"audit";
GRANT SELECT (id, name, place) ON semblance.projects TO :"audit";
CREATE TRIGGER logged AFTER INSERT OR UPDATE OR DELETE ON semblance.projects
    FOR EACH ROW EXECUTE FUNCTION semblance_audit.log_project();
CREATE TRIGGER logged AFTER INSERT OR UPDATE OR DELETE ON semblance.project_members
    FOR EACH ROW EXECUTE FUNCTION semblance_audit.log_project();
CREATE TRIGGER audited_insert AFTER INSERT ON semblance.project_cases REFERENCING NEW TABLE AS changed_rows
    FOR EACH STATEMENT EXECUTE FUNCTION semblance_audit.count_change();
CREATE TRIGGER audited_update AFTER UPDATE ON semblance.project_cases REFERENCING NEW TABLE AS changed_rows
    FOR EACH STATEMENT EXECUTE FUNCTION semblance_audit.count_change();
CREATE TRIGGER audited_delete AFTER DELETE ON semblance.project_cases REFERENCING OLD TABLE AS changed_rows
    FOR EACH STATEMENT EXECUTE FUNCTION semblance_audit.count_change();

-- Functions. Each asks for the right of the account in the place that it is called for.
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA semblance_projects FROM PUBLIC;
ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
GRANT USAGE ON SCHEMA semblance_projects TO :"project_reader", :"audit";
GRANT EXECUTE ON FUNCTION
    semblance_projects.right_in(text), semblance_projects.has_right(text, text),
    semblance_projects.state(text), semblance_projects.mine() TO :"project_reader";
GRANT EXECUTE ON FUNCTION semblance_projects.right_in(text) TO :"audit";
GRANT EXECUTE ON FUNCTION
    semblance_projects.take_turn(text), semblance_projects.note_change(text, boolean) TO :"project_annotator";
GRANT EXECUTE ON FUNCTION
    semblance_projects.start_build(text), semblance_projects.make_embedding(text, integer),
    semblance_projects.index_embedding(text, bigint, integer, integer), semblance_projects.drop_embedding(text, bigint),
    semblance_projects.make(text, text, date, text), semblance_projects.remove(text),
    semblance_projects.let_in(integer, text, text) TO :"curator";
GRANT EXECUTE ON FUNCTION semblance_projects.add_exports(text[]) TO :"administrator";

RESET ROLE;
