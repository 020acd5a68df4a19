CREATE TABLE concepts (
	id INTEGER NOT NULL,
	name TEXT NOT NULL,
	author TEXT NOT NULL,
	time TEXT NOT NULL,
	deleted TEXT,
	PRIMARY KEY (id)
);
CREATE TABLE edits (
	id INTEGER NOT NULL,
	kind TEXT NOT NULL,
	summary JSON NOT NULL,
	changes JSON NOT NULL,
	author TEXT NOT NULL,
	time TEXT NOT NULL,
	undone TEXT,
	PRIMARY KEY (id)
);
CREATE TABLE feature_sets (
	id INTEGER NOT NULL,
	name TEXT NOT NULL,
	extractor TEXT NOT NULL,
	version INTEGER NOT NULL,
	settings JSON NOT NULL,
	columns JSON NOT NULL,
	created TEXT NOT NULL,
	PRIMARY KEY (id),
	UNIQUE (name)
);
CREATE TABLE judgements (
	id INTEGER NOT NULL,
	ledger TEXT NOT NULL,
	kind TEXT NOT NULL,
	"query" TEXT NOT NULL,
	"case" TEXT NOT NULL,
	other TEXT,
	region JSON,
	shown JSON NOT NULL,
	author TEXT NOT NULL,
	time TEXT NOT NULL,
	undone INTEGER,
	PRIMARY KEY (id)
);
CREATE INDEX ix_judgements_ledger ON judgements (ledger);
CREATE TABLE meta (
	"key" TEXT NOT NULL,
	value TEXT NOT NULL,
	PRIMARY KEY ("key")
);
CREATE TABLE reader_studies (
	id INTEGER NOT NULL,
	name TEXT NOT NULL,
	design JSON NOT NULL,
	created TEXT NOT NULL,
	PRIMARY KEY (id),
	UNIQUE (name)
);
CREATE TABLE searches (
	id INTEGER NOT NULL,
	name TEXT NOT NULL,
	state JSON NOT NULL,
	saved TEXT NOT NULL,
	PRIMARY KEY (id),
	UNIQUE (name)
);
CREATE TABLE sources (
	id INTEGER NOT NULL,
	kind TEXT NOT NULL,
	name TEXT NOT NULL,
	path TEXT NOT NULL,
	columns JSON NOT NULL,
	added TEXT NOT NULL,
	identified BOOLEAN DEFAULT 1 NOT NULL,
	PRIMARY KEY (id),
	UNIQUE (name)
);
CREATE TABLE concept_marks (
	id INTEGER NOT NULL,
	concept INTEGER NOT NULL,
	"case" TEXT NOT NULL,
	has BOOLEAN NOT NULL,
	author TEXT NOT NULL,
	time TEXT NOT NULL,
	PRIMARY KEY (id),
	UNIQUE (concept, "case", author),
	FOREIGN KEY(concept) REFERENCES concepts (id)
);
CREATE TABLE feature_chunks (
	feature_set INTEGER NOT NULL,
	chunk INTEGER NOT NULL,
	case_rows BLOB NOT NULL,
	file_sum INTEGER,
	PRIMARY KEY (feature_set, chunk),
	FOREIGN KEY(feature_set) REFERENCES feature_sets (id)
);
CREATE TABLE files (
	id INTEGER NOT NULL,
	source INTEGER NOT NULL,
	path TEXT NOT NULL,
	size INTEGER NOT NULL,
	stamp INTEGER NOT NULL,
	hash TEXT NOT NULL,
	state TEXT NOT NULL,
	reason TEXT DEFAULT '' NOT NULL,
	PRIMARY KEY (id),
	UNIQUE (source, path),
	FOREIGN KEY(source) REFERENCES sources (id)
);
CREATE INDEX files_by_hash ON files (hash);
CREATE TABLE metrics (
	id INTEGER NOT NULL,
	name TEXT NOT NULL,
	learner TEXT NOT NULL,
	feature_set INTEGER NOT NULL,
	file TEXT NOT NULL,
	card JSON NOT NULL,
	training BLOB NOT NULL,
	scores JSON,
	created TEXT NOT NULL,
	PRIMARY KEY (id),
	UNIQUE (name),
	FOREIGN KEY(feature_set) REFERENCES feature_sets (id)
);
CREATE TABLE reader_answers (
	study INTEGER NOT NULL,
	reader TEXT NOT NULL,
	number INTEGER NOT NULL,
	finding TEXT NOT NULL,
	confidence INTEGER NOT NULL,
	seconds FLOAT NOT NULL,
	time TEXT NOT NULL,
	PRIMARY KEY (study, reader, number),
	FOREIGN KEY(study) REFERENCES reader_studies (id)
);
CREATE TABLE cases (
	id INTEGER NOT NULL,
	case_id TEXT NOT NULL,
	file INTEGER NOT NULL,
	member TEXT DEFAULT '' NOT NULL,
	frame INTEGER,
	finding TEXT,
	patient TEXT,
	region JSON,
	attributes JSON NOT NULL,
	width INTEGER,
	height INTEGER,
	content TEXT NOT NULL,
	numbers BLOB,
	depth INTEGER,
	PRIMARY KEY (id),
	UNIQUE (case_id),
	FOREIGN KEY(file) REFERENCES files (id)
);
CREATE INDEX ix_cases_file ON cases (file);
CREATE TABLE feature_failures (
	feature_set INTEGER NOT NULL,
	"case" INTEGER NOT NULL,
	content TEXT NOT NULL,
	reason TEXT NOT NULL,
	PRIMARY KEY (feature_set, "case"),
	FOREIGN KEY(feature_set) REFERENCES feature_sets (id),
	FOREIGN KEY("case") REFERENCES cases (id)
);
CREATE TABLE lesion_groups (
	"case" INTEGER NOT NULL,
	"group" INTEGER NOT NULL,
	source TEXT NOT NULL,
	PRIMARY KEY ("case"),
	FOREIGN KEY("case") REFERENCES cases (id)
);
CREATE TABLE slices (
	"case" INTEGER NOT NULL,
	place INTEGER NOT NULL,
	file INTEGER NOT NULL,
	frame INTEGER,
	PRIMARY KEY ("case", place),
	FOREIGN KEY("case") REFERENCES cases (id),
	FOREIGN KEY(file) REFERENCES files (id)
);
CREATE INDEX ix_slices_file ON slices (file);
CREATE VIRTUAL TABLE header_texts USING fts5(text, tokenize = 'unicode61 remove_diacritics 2');
CREATE TRIGGER header_text_added AFTER INSERT ON cases BEGIN INSERT INTO header_texts (rowid, text)  SELECT new.id, coalesce(CASE WHEN json_valid(new.attributes) THEN (SELECT group_concat(value, ' ') FROM json_each(new.attributes) WHERE key NOT IN ('study', 'series', 'instance', 'issuer', 'of')) END, ''); END;
CREATE TRIGGER header_text_changed AFTER UPDATE OF attributes ON cases WHEN old.attributes IS NOT new.attributes BEGIN DELETE FROM header_texts WHERE rowid = old.id; INSERT INTO header_texts (rowid, text)  SELECT new.id, coalesce(CASE WHEN json_valid(new.attributes) THEN (SELECT group_concat(value, ' ') FROM json_each(new.attributes) WHERE key NOT IN ('study', 'series', 'instance', 'issuer', 'of')) END, ''); END;
CREATE TRIGGER header_text_removed AFTER DELETE ON cases BEGIN DELETE FROM header_texts WHERE rowid = old.id; END;
INSERT INTO meta VALUES ('schema', '10');
INSERT INTO sources VALUES (1, 'folder', 's', '/pictures/s', '[]', '2026-01-05T10:00:00+00:00', 1);
INSERT INTO files VALUES (1, 1, '0.png', 100, 0, 'hash0', 'ok', '');
INSERT INTO cases VALUES (1, 's/0.png', 1, '', NULL, 'benign', 'P0', NULL, '{"view": "CC"}', 10, 20, 'c0', NULL, NULL);
INSERT INTO files VALUES (2, 1, '1.png', 101, 1, 'hash1', 'ok', '');
INSERT INTO cases VALUES (2, 's/1.png', 2, '', NULL, 'malignant', 'P0', NULL, '{"view": "CC"}', 10, 20, 'c1', NULL, NULL);
INSERT INTO files VALUES (3, 1, '2.png', 102, 2, 'hash2', 'ok', '');
INSERT INTO cases VALUES (3, 's/2.png', 3, '', NULL, 'benign', 'P1', NULL, '{"view": "CC"}', 10, 20, 'c2', NULL, NULL);
INSERT INTO files VALUES (4, 1, '3.png', 103, 3, 'hash3', 'ok', '');
INSERT INTO cases VALUES (4, 's/3.png', 4, '', NULL, 'malignant', 'P1', NULL, '{"view": "CC"}', 10, 20, 'c3', NULL, NULL);
INSERT INTO files VALUES (9, 1, 'v/0.png', 1, 1, 'hv0', 'ok', '');
INSERT INTO files VALUES (10, 1, 'v/1.png', 1, 1, 'hv1', 'ok', '');
INSERT INTO cases VALUES (9, 's/v', 9, '', NULL, 'benign', 'P7', NULL, '{}', 10, 20, 'cv', NULL, 2);
INSERT INTO slices VALUES (9, 0, 9, NULL);
INSERT INTO slices VALUES (9, 1, 10, NULL);
INSERT INTO feature_sets VALUES (1, 'made up', 'gabor', 1, '{}', '[["f0", "a"], ["f1", "b"]]', '2026-01-05T10:00:00+00:00');
INSERT INTO feature_chunks VALUES (1, 0, X'0100000000000000020000000000000003000000000000000400000000000000', NULL);
INSERT INTO searches VALUES (1, 'mine', '{"query": "s/0.png"}', '2026-01-05T10:00:00+00:00');
INSERT INTO metrics VALUES (1, 'plain', 'euclidean', 1, 'abc.metric', '{}', X'01000000000000000200000000000000', NULL, '2026-01-05T10:00:00+00:00');
INSERT INTO judgements VALUES (1, 'mine', 'alike', 's/0.png', 's/1.png', NULL, NULL, '[]', 'me', '2026-01-05T10:00:00+00:00', NULL);
INSERT INTO lesion_groups VALUES (1, 1, 'detected');
INSERT INTO lesion_groups VALUES (3, 1, 'by hand');
INSERT INTO edits VALUES (1, 'finding', '{"n": 1, "finding": "benign"}', '[{"table": "cases", "columns": ["finding"], "keys": [[1]], "before": [["malignant"]], "after": [["benign"]]}]', 'me', '2026-01-05T10:00:00+00:00', NULL);
