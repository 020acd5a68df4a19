-- The tables of a library and of its audit log. A project has the tables of a library once more, in a schema of its own.

SET LOCAL ROLE :"owner";

CREATE TABLE semblance.alembic_version (version_num varchar(32) CONSTRAINT alembic_version_pkc PRIMARY KEY);
-- What the program has in a folder too, as in core/library/schema.py.
CREATE TABLE semblance.meta (
    key text COLLATE "C" PRIMARY KEY,
    value text COLLATE "C" NOT NULL
);
CREATE TABLE semblance.sources (
    id serial PRIMARY KEY,
    kind text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL UNIQUE,
    path text COLLATE "C" NOT NULL,
    columns text COLLATE "C" NOT NULL,
    added text COLLATE "C" NOT NULL,
    identified boolean NOT NULL DEFAULT true
);
CREATE TABLE semblance.files (
    id serial PRIMARY KEY,
    source integer NOT NULL REFERENCES semblance.sources (id),
    path text COLLATE "C" NOT NULL,
    size bigint NOT NULL,
    stamp bigint NOT NULL,
    hash text COLLATE "C" NOT NULL,
    state text COLLATE "C" NOT NULL,
    reason text COLLATE "C" NOT NULL DEFAULT '',
    UNIQUE (source, path)
);
CREATE INDEX files_by_hash ON semblance.files (hash);
CREATE TABLE semblance.cases (
    id serial PRIMARY KEY,
    case_id text COLLATE "C" NOT NULL UNIQUE,
    file integer NOT NULL REFERENCES semblance.files (id),
    member text COLLATE "C" NOT NULL DEFAULT '',
    frame integer,
    finding text COLLATE "C",
    patient text COLLATE "C",
    region text COLLATE "C",
    attributes text COLLATE "C" NOT NULL,
    width integer,
    height integer,
    content text COLLATE "C" NOT NULL,
    numbers bytea,
    depth integer
);
CREATE INDEX ix_cases_file ON semblance.cases (file);
CREATE TABLE semblance.slices (
    "case" integer NOT NULL REFERENCES semblance.cases (id),
    place integer NOT NULL,
    file integer NOT NULL REFERENCES semblance.files (id),
    frame integer,
    PRIMARY KEY ("case", place)
);
CREATE INDEX ix_slices_file ON semblance.slices (file);
CREATE TABLE semblance.lesion_groups (
    "case" integer PRIMARY KEY REFERENCES semblance.cases (id),
    "group" integer NOT NULL,
    source text COLLATE "C" NOT NULL
);
CREATE TABLE semblance.feature_sets (
    id serial PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE,
    extractor text COLLATE "C" NOT NULL,
    version integer NOT NULL,
    settings text COLLATE "C" NOT NULL,
    columns text COLLATE "C" NOT NULL,
    created text COLLATE "C" NOT NULL
);
CREATE TABLE semblance.feature_chunks (
    feature_set integer NOT NULL REFERENCES semblance.feature_sets (id),
    chunk integer NOT NULL,
    case_rows bytea NOT NULL,
    file_sum bigint,
    PRIMARY KEY (feature_set, chunk)
);
CREATE TABLE semblance.feature_failures (
    feature_set integer NOT NULL REFERENCES semblance.feature_sets (id),
    "case" integer NOT NULL REFERENCES semblance.cases (id),
    content text COLLATE "C" NOT NULL,
    reason text COLLATE "C" NOT NULL,
    PRIMARY KEY (feature_set, "case")
);
CREATE TABLE semblance.metrics (
    id serial PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE,
    learner text COLLATE "C" NOT NULL,
    feature_set integer NOT NULL REFERENCES semblance.feature_sets (id),
    file text COLLATE "C" NOT NULL,
    card text COLLATE "C" NOT NULL,
    training bytea NOT NULL,
    scores text COLLATE "C",
    created text COLLATE "C" NOT NULL
);
CREATE TABLE semblance.searches (
    id serial PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE,
    state text COLLATE "C" NOT NULL,
    saved text COLLATE "C" NOT NULL
);
CREATE TABLE semblance.judgements (
    id serial PRIMARY KEY,
    ledger text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    query text COLLATE "C" NOT NULL,
    "case" text COLLATE "C" NOT NULL,
    other text COLLATE "C",
    region text COLLATE "C",
    shown text COLLATE "C" NOT NULL,
    author text COLLATE "C" NOT NULL,
    time text COLLATE "C" NOT NULL,
    undone integer
);
CREATE INDEX ix_judgements_ledger ON semblance.judgements (ledger);
CREATE TABLE semblance.concepts (
    id serial PRIMARY KEY,
    name text COLLATE "C" NOT NULL,
    author text COLLATE "C" NOT NULL,
    time text COLLATE "C" NOT NULL,
    deleted text COLLATE "C"
);
CREATE TABLE semblance.concept_marks (
    id serial PRIMARY KEY,
    concept integer NOT NULL REFERENCES semblance.concepts (id),
    "case" text COLLATE "C" NOT NULL,
    has boolean NOT NULL,
    author text COLLATE "C" NOT NULL,
    time text COLLATE "C" NOT NULL,
    UNIQUE (concept, "case", author)
);
CREATE TABLE semblance.reader_studies (
    id serial PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE,
    design text COLLATE "C" NOT NULL,
    created text COLLATE "C" NOT NULL
);
CREATE TABLE semblance.reader_answers (
    study integer NOT NULL REFERENCES semblance.reader_studies (id),
    reader text COLLATE "C" NOT NULL,
    number integer NOT NULL,
    finding text COLLATE "C" NOT NULL,
    confidence integer NOT NULL,
    seconds double precision NOT NULL,
    time text COLLATE "C" NOT NULL,
    PRIMARY KEY (study, reader, number)
);
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
CREATE TABLE semblance.edits (
    id serial PRIMARY KEY,
    kind text COLLATE "C" NOT NULL,
    summary text COLLATE "C" NOT NULL,
    changes text COLLATE "C" NOT NULL,
    author text COLLATE "C" NOT NULL,
    time text COLLATE "C" NOT NULL,
    undone text COLLATE "C"
);

-- What only a library on a server has, as in core/library/server/tables.py.
CREATE TABLE semblance.library_state (
    one boolean PRIMARY KEY DEFAULT true CONSTRAINT one_row CHECK (one),
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    number bigint NOT NULL DEFAULT 0,
    cases_version uuid NOT NULL DEFAULT gen_random_uuid(),
    changed_by bigint
);
CREATE TABLE semblance.locks (name text COLLATE "C" PRIMARY KEY);
CREATE TABLE semblance.reader_accounts (
    study integer NOT NULL REFERENCES semblance.reader_studies (id) ON DELETE CASCADE,
    reader text COLLATE "C" NOT NULL,
    account text COLLATE "C" NOT NULL,
    PRIMARY KEY (study, reader)
);
CREATE TABLE semblance.stored_files (
    name text COLLATE "C" PRIMARY KEY,
    data bytea STORAGE EXTERNAL NOT NULL
);
CREATE TABLE semblance.thumbnails (
    content text COLLATE "C" PRIMARY KEY,
    image bytea STORAGE EXTERNAL NOT NULL
);
CREATE TABLE semblance.outlines (
    content text COLLATE "C" PRIMARY KEY,
    outline bytea NOT NULL
);
CREATE TABLE semblance.case_words (
    "case" integer PRIMARY KEY REFERENCES semblance.cases (id) ON DELETE CASCADE,
    words tsvector NOT NULL
);
CREATE INDEX case_words_by_word ON semblance.case_words USING gin (words);
CREATE TABLE semblance.embeddings (
    number bigint PRIMARY KEY,
    metric text COLLATE "C" NOT NULL UNIQUE,
    features text COLLATE "C" NOT NULL,
    cases bigint NOT NULL,
    dimensions integer NOT NULL,
    centre bytea NOT NULL,
    scale double precision NOT NULL,
    candidates integer,
    recall double precision NOT NULL,
    queries integer NOT NULL,
    built text COLLATE "C" NOT NULL
);
CREATE SEQUENCE semblance.embedding_numbers;
CREATE TABLE semblance.export_log (
    id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    line text COLLATE "C" NOT NULL
);

-- Who may do what, and the projects: only the library has these.
CREATE TABLE semblance.library_roles (
    name text COLLATE "C" PRIMARY KEY,
    role text COLLATE "C" NOT NULL
);
CREATE TABLE semblance.projects (
    id serial PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE,
    purpose text COLLATE "C" NOT NULL,
    until date NOT NULL CONSTRAINT until_is_a_day CHECK (isfinite(until)),
    created text COLLATE "C" NOT NULL,
    by text COLLATE "C" NOT NULL,
    closed text COLLATE "C",
    place text COLLATE "C" NOT NULL UNIQUE,
    key text COLLATE "C" NOT NULL
);
CREATE TABLE semblance.project_members (
    project integer NOT NULL REFERENCES semblance.projects (id),
    person text COLLATE "C" NOT NULL,
    "right" text COLLATE "C" NOT NULL,
    PRIMARY KEY (project, person)
);
CREATE TABLE semblance.project_cases (
    project integer NOT NULL REFERENCES semblance.projects (id),
    "case" text COLLATE "C" NOT NULL,
    pseudonym text COLLATE "C" NOT NULL,
    PRIMARY KEY (project, "case"),
    UNIQUE (project, pseudonym)
);
INSERT INTO semblance.alembic_version VALUES (:'revision');
INSERT INTO semblance.meta VALUES ('schema', :'schema');
INSERT INTO semblance.library_roles VALUES
    ('owner', :'owner'), ('audit', :'audit'), ('project_reader', :'project_reader'),
    ('project_annotator', :'project_annotator'), ('reader', :'reader'), ('annotator', :'annotator'),
    ('curator', :'curator'), ('administrator', :'administrator');
INSERT INTO semblance.library_state DEFAULT VALUES;
INSERT INTO semblance.locks VALUES ('write'), ('build');

SET LOCAL ROLE :"audit";

-- The log; its last entry; entries that are not in the chain yet; and rows that running transactions changed so far.
CREATE TABLE semblance_audit.audit_log (
    number bigint PRIMARY KEY,
    time text COLLATE "C" NOT NULL,
    by text COLLATE "C" NOT NULL,
    action text COLLATE "C" NOT NULL,
    detail text COLLATE "C" NOT NULL,
    hash text COLLATE "C" NOT NULL
);
CREATE TABLE semblance_audit.audit_head (
    one boolean PRIMARY KEY DEFAULT true CONSTRAINT one_head CHECK (one),
    number bigint NOT NULL,
    hash text COLLATE "C" NOT NULL
);
CREATE TABLE semblance_audit.audit_waiting (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    time text COLLATE "C" NOT NULL,
    by text COLLATE "C" NOT NULL,
    action text COLLATE "C" NOT NULL,
    detail text COLLATE "C" NOT NULL
);
CREATE TABLE semblance_audit.audit_pending (
    transaction text COLLATE "C" NOT NULL,
    relation text COLLATE "C" NOT NULL,
    operation text COLLATE "C" NOT NULL,
    rows bigint NOT NULL,
    PRIMARY KEY (transaction, relation, operation)
);
INSERT INTO semblance_audit.audit_head (number, hash) VALUES (0, repeat('0', 64));

RESET ROLE;
