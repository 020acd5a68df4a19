-- Makes a new library on a server one of revision 0007, with what a step from it meets. Run by the owner of its tables.

DO $before$
DECLARE
    place text;
    one text;
BEGIN
    FOR place IN SELECT 'semblance' UNION ALL SELECT p.place FROM semblance.projects p LOOP
        EXECUTE format('DROP TRIGGER case_words_added ON %I.cases', place);
        EXECUTE format('DROP TRIGGER case_words_changed ON %I.cases', place);
        FOREACH one IN ARRAY ARRAY['collection_items', 'collections', 'case_notes', 'annotations', 'case_words'] LOOP
            EXECUTE format('DROP TABLE %I.%I', place, one);
        END LOOP;
        EXECUTE format('CREATE TABLE %I.header_words ("case" integer PRIMARY KEY, words tsvector NOT NULL)', place);
        EXECUTE format('UPDATE %I.meta SET value = ''10'' WHERE key = ''schema''', place);
    END LOOP;
END $before$;
DROP FUNCTION semblance_projects.index_words(text, integer, text), semblance_projects.keep_case_words(),
    semblance_projects.case_words_of(text, text, text), semblance_projects.words_of(text, text),
    semblance_projects.add_tables(text, text[]);
CREATE FUNCTION semblance_projects.header_words_of(attributes text) RETURNS tsvector LANGUAGE sql IMMUTABLE
AS $$ SELECT ''::tsvector $$;
CREATE FUNCTION semblance_projects.keep_header_words() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE TRIGGER header_words_added AFTER INSERT ON semblance.cases
    FOR EACH ROW EXECUTE FUNCTION semblance_projects.keep_header_words();
CREATE OR REPLACE FUNCTION semblance_projects.tables() RETURNS TABLE (name text, writers text) LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp AS $$ VALUES ('meta', 'curator'), ('cases', 'curator'), ('judgements', 'author'),
    ('sources', 'curator'), ('files', 'curator'), ('slices', 'curator'), ('lesion_groups', 'curator'),
    ('feature_sets', 'curator'), ('feature_chunks', 'curator'), ('feature_failures', 'curator'), ('metrics', 'curator'),
    ('embeddings', 'curator'), ('reader_studies', 'curator'), ('edits', 'curator'), ('stored_files', 'curator'),
    ('thumbnails', 'curator'), ('outlines', 'curator'), ('searches', 'annotator'), ('concepts', 'author'),
    ('concept_marks', 'author'), ('reader_answers', 'answer'), ('library_state', 'server'), ('header_words', 'server'),
    ('export_log', 'server'), ('reader_accounts', 'none'), ('locks', 'none') $$;
UPDATE semblance.alembic_version SET version_num = '0007';
