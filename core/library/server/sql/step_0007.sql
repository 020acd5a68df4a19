-- From revision 0007, first part: what the pages of functions make again is dropped, and the new tables of the library
-- are made.

SET LOCAL ROLE :"owner";
DO $step$
DECLARE
    place text;
    one record;
BEGIN
    FOR place IN SELECT 'semblance' UNION ALL SELECT p.place FROM semblance.projects p LOOP
        FOR one IN
            SELECT t.tgname, r.relname FROM pg_trigger t JOIN pg_class r ON r.oid = t.tgrelid
            JOIN semblance_projects.tables() known ON known.name = r.relname
            WHERE r.relnamespace = place::regnamespace AND NOT t.tgisinternal
        LOOP
            EXECUTE format('DROP TRIGGER %I ON %I.%I', one.tgname, place, one.relname);
        END LOOP;
        EXECUTE format('DROP TABLE %I.header_words', place);
        EXECUTE format('UPDATE %I.meta SET value = $1 WHERE key = ''schema''', place) USING :'schema';
    END LOOP;
END $step$;
DROP FUNCTION semblance_projects.keep_header_words(), semblance_projects.header_words_of(text);
UPDATE semblance.alembic_version SET version_num = :'revision';
CREATE TABLE semblance.case_words (
    "case" integer PRIMARY KEY REFERENCES semblance.cases (id) ON DELETE CASCADE,
    words tsvector NOT NULL
);
CREATE INDEX case_words_by_word ON semblance.case_words USING gin (words);
CREATE TABLE semblance.annotations (
    id serial PRIMARY KEY,
    "case" integer NOT NULL REFERENCES semblance.cases (id),
    slice integer,
    kind text COLLATE "C" NOT NULL,
    data text COLLATE "C" NOT NULL,
    author text COLLATE "C" NOT NULL,
    time text COLLATE "C" NOT NULL
);
CREATE INDEX ix_annotations_case ON semblance.annotations ("case");
CREATE TABLE semblance.case_notes (
    "case" integer PRIMARY KEY REFERENCES semblance.cases (id),
    text text COLLATE "C" NOT NULL,
    author text COLLATE "C" NOT NULL,
    time text COLLATE "C" NOT NULL
);
CREATE TABLE semblance.collections (
    id serial PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE,
    notes text COLLATE "C" NOT NULL,
    author text COLLATE "C" NOT NULL,
    created text COLLATE "C" NOT NULL
);
CREATE TABLE semblance.collection_items (
    id serial PRIMARY KEY,
    collection integer NOT NULL REFERENCES semblance.collections (id),
    position integer NOT NULL,
    "case" text COLLATE "C" NOT NULL,
    slice integer,
    region text COLLATE "C",
    notes text COLLATE "C" NOT NULL,
    author text COLLATE "C" NOT NULL
);
CREATE INDEX ix_collection_items_collection ON semblance.collection_items (collection);
CREATE INDEX ix_collection_items_case ON semblance.collection_items ("case");

RESET ROLE;
