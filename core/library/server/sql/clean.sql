-- Everything that could run or give a right is removed from the schemas of one role: views, functions with their triggers
-- and policies, other triggers, policies and rules, and all grants. The other pages make it again.

SET LOCAL ROLE :"cleaned";
DO $clean$
DECLARE
    ours CONSTANT oid[] := (SELECT array_agg(oid) FROM pg_catalog.pg_namespace
        WHERE nspowner = current_user::regrole AND nspname ~ '^semblance(_audit|_projects|_project_[0-9a-f]{16})?$');
    one text;
BEGIN
    FOR one IN
        SELECT format('DROP VIEW %s CASCADE', c.oid::regclass) FROM pg_catalog.pg_class c
        WHERE c.relnamespace = ANY (ours) AND c.relkind = 'v'
    LOOP EXECUTE one; END LOOP;
    FOR one IN
        SELECT format('DROP FUNCTION %s CASCADE', p.oid::regprocedure) FROM pg_catalog.pg_proc p
        WHERE p.pronamespace = ANY (ours)
    LOOP EXECUTE one; END LOOP;
    FOR one IN
        SELECT format('DROP TRIGGER %I ON %s', t.tgname, t.tgrelid::regclass) FROM pg_catalog.pg_trigger t
        JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid WHERE c.relnamespace = ANY (ours) AND NOT t.tgisinternal
        UNION ALL SELECT format('DROP POLICY %I ON %s', p.polname, p.polrelid::regclass) FROM pg_catalog.pg_policy p
        JOIN pg_catalog.pg_class c ON c.oid = p.polrelid WHERE c.relnamespace = ANY (ours)
        UNION ALL SELECT format('DROP RULE %I ON %s', w.rulename, w.ev_class::regclass) FROM pg_catalog.pg_rewrite w
        JOIN pg_catalog.pg_class c ON c.oid = w.ev_class WHERE c.relnamespace = ANY (ours)
    LOOP EXECUTE one; END LOOP;
    FOR one IN
        SELECT DISTINCT format('REVOKE ALL ON SCHEMA %I FROM %s CASCADE', n.nspname,
            CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END)
        FROM pg_catalog.pg_namespace n, pg_catalog.aclexplode(n.nspacl) a
        WHERE n.oid = ANY (ours) AND a.grantee <> n.nspowner
        -- Those of a table take the rights to its columns along.
        UNION SELECT format('REVOKE ALL ON %s %s FROM %s CASCADE', CASE c.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END,
            c.oid::regclass, CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END)
        FROM pg_catalog.pg_class c, LATERAL (
            SELECT e.grantee FROM pg_catalog.aclexplode(c.relacl) e
            UNION SELECT e.grantee FROM pg_catalog.pg_attribute t, pg_catalog.aclexplode(t.attacl) e WHERE t.attrelid = c.oid
        ) a
        WHERE c.relnamespace = ANY (ours) AND c.relkind IN ('r', 'S') AND a.grantee <> c.relowner
    LOOP EXECUTE one; END LOOP;
END $clean$;
RESET ROLE;
