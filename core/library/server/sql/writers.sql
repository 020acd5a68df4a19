-- Who may write to which table. Whatever is not given here and in the page `rights`, nobody may.

SET LOCAL ROLE :"owner";

-- The tables of a library, which a project has too, and who may write to them; readers may read all but the last.
CREATE OR REPLACE FUNCTION semblance_projects.tables() RETURNS TABLE (name text, writers text) LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp AS $$ VALUES
    ('meta', 'curator'),
    ('sources', 'curator'),
    ('files', 'curator'),
    ('cases', 'curator'),
    ('slices', 'curator'),
    ('lesion_groups', 'curator'),
    ('feature_sets', 'curator'),
    ('feature_chunks', 'curator'),
    ('feature_failures', 'curator'),
    ('metrics', 'curator'),
    ('embeddings', 'curator'),
    ('reader_studies', 'curator'),
    ('edits', 'curator'),
    ('stored_files', 'curator'),
    ('thumbnails', 'curator'),
    ('outlines', 'curator'),
    ('searches', 'annotator'),      -- Shared: who saves one replaces it for all.
    ('judgements', 'author'),       -- Annotators their own rows, curators all.
    ('concepts', 'author'),
    ('concept_marks', 'author'),
    ('annotations', 'author'),
    ('case_notes', 'author'),
    ('collections', 'author'),
    ('collection_items', 'author'),
    ('reader_answers', 'answer'),   -- Annotators add, each under a name of their own; curators delete.
    ('library_state', 'server'),    -- Functions and triggers alone.
    ('case_words', 'server'),
    ('export_log', 'server'),
    ('reader_accounts', 'none'),    -- As before, and not read by anybody.
    ('locks', 'none')
$$;

RESET ROLE;
