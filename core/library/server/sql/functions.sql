-- What people may call in place of rights to tables, and what triggers do. All of it runs as the owner and asks for the
-- right of the account itself. `place` is a schema: that of the library, or of a project.

SET LOCAL ROLE :"owner";

-- The right of the account: by its role, and in a project also by membership, until the last day. NULL: none.
CREATE OR REPLACE FUNCTION semblance_projects.right_in(place text) RETURNS text LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(
        (SELECT r.name FROM semblance.library_roles r
            WHERE pg_has_role(session_user, r.role::name, 'MEMBER') AND (
                place = 'semblance' AND r.name IN ('reader', 'annotator', 'curator', 'administrator')
                OR r.name IN ('curator', 'administrator')
                    AND EXISTS (SELECT FROM semblance.projects p WHERE p.place = right_in.place))
            ORDER BY array_position(ARRAY['administrator', 'curator', 'annotator', 'reader'], r.name) LIMIT 1),
        (SELECT m."right" FROM semblance.projects p JOIN semblance.project_members m ON m.project = p.id
            WHERE p.place = right_in.place AND m.person = session_user AND p.closed IS NULL
                AND p.until >= (clock_timestamp() AT TIME ZONE 'UTC')::date))
$$;
CREATE OR REPLACE FUNCTION semblance_projects.has_right(place text, wanted text) RETURNS boolean LANGUAGE sql STABLE
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(array_position(ARRAY['reader', 'annotator', 'curator', 'administrator'], wanted)
        <= array_position(ARRAY['reader', 'annotator', 'curator', 'administrator'],
            semblance_projects.right_in(place)), false)
$$;
CREATE OR REPLACE FUNCTION semblance_projects.check_right(place text, wanted text) RETURNS void LANGUAGE plpgsql STABLE
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT semblance_projects.has_right(place, wanted) THEN
        RAISE insufficient_privilege USING MESSAGE = format('permission denied: the right %s is needed', wanted);
    END IF;
END $$;

-- Whoever is no member learns the same of a project as of none.
CREATE OR REPLACE FUNCTION semblance_projects.state(wanted text, OUT state text, OUT until date) LANGUAGE sql STABLE
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE
            WHEN p.closed IS NOT NULL THEN 'closed'
            WHEN p.until < (clock_timestamp() AT TIME ZONE 'UTC')::date THEN 'expired'
            ELSE 'open'
        END, p.until
    FROM semblance.projects p
    WHERE p.name = wanted AND (semblance_projects.has_right('semblance', 'curator') OR EXISTS (
        SELECT FROM semblance.project_members m WHERE m.project = p.id AND m.person = session_user))
$$;
CREATE OR REPLACE FUNCTION semblance_projects.mine() RETURNS TABLE (name text, purpose text, until date, "right" text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT p.name, p.purpose, p.until, semblance_projects.right_in(p.place) FROM semblance.projects p
    WHERE semblance_projects.right_in(p.place) IS NOT NULL AND p.closed IS NULL
        AND p.until >= (clock_timestamp() AT TIME ZONE 'UTC')::date
    ORDER BY p.name
$$;

-- Writers take turns: the row is locked until the transaction ends. Only who may write can lock it.
CREATE OR REPLACE FUNCTION semblance_projects.take_turn(place text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM semblance_projects.check_right(place, 'annotator');
    EXECUTE format('SELECT FROM %I.locks WHERE name = ''write'' FOR UPDATE', place);
END $$;
-- One build of indexes at a time; false where another runs.
CREATE OR REPLACE FUNCTION semblance_projects.start_build(place text) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    mine text;
BEGIN
    PERFORM semblance_projects.check_right(place, 'curator');
    EXECUTE format('SELECT name FROM %I.locks WHERE name = ''build'' FOR UPDATE SKIP LOCKED', place) INTO mine;
    RETURN mine IS NOT NULL;
END $$;
-- Counts the changes of the library, which others read it for again. On a channel that is called as its schema.
CREATE OR REPLACE FUNCTION semblance_projects.note_change(place text, of_cases boolean) RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    made bigint;
BEGIN
    PERFORM semblance_projects.check_right(place, CASE WHEN of_cases THEN 'curator' ELSE 'annotator' END);
    EXECUTE format('UPDATE %I.library_state SET number = number + 1, '
        'cases_version = CASE WHEN $1 THEN gen_random_uuid() ELSE cases_version END RETURNING number', place)
        INTO made USING of_cases;
    PERFORM pg_notify(place, made::text);
    RETURN made;
END $$;

-- A name of pgvector with its schema.
CREATE OR REPLACE FUNCTION semblance_projects.of_vector(name text) RETURNS text LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp AS $$
    SELECT format('%I.%I', n.nspname, name) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
    WHERE e.extname = 'vector'
$$;
-- Lines of the log of exports of another home of the library: only who made this one moves or restores one.
CREATE OR REPLACE FUNCTION semblance_projects.add_exports(lines text[]) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT pg_has_role(session_user, current_user, 'MEMBER') THEN
        RAISE insufficient_privilege USING MESSAGE = 'permission denied: only who made the library adds earlier exports';
    END IF;
    INSERT INTO semblance.export_log (line) SELECT unnest(lines);
END $$;
-- The tables of embeddings, which curators make without a right to make tables.
CREATE OR REPLACE FUNCTION semblance_projects.make_embedding(place text, dimensions integer) RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    made bigint;
BEGIN
    PERFORM semblance_projects.check_right(place, 'curator');
    made := nextval(format('%I.embedding_numbers', place)::regclass);
    EXECUTE format('CREATE TABLE %I.%I ("case" integer PRIMARY KEY, chunk integer NOT NULL, near %s(%s) NOT NULL, '
        'exact bytea STORAGE EXTERNAL NOT NULL)', place, 'embedding_' || made, semblance_projects.of_vector('halfvec'), dimensions);
    PERFORM semblance_projects.share(place, 'embedding_' || made, 'curator');
    RETURN made;
END $$;
CREATE OR REPLACE FUNCTION semblance_projects.index_embedding(place text, made bigint, neighbours integer, construction integer)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET maintenance_work_mem = '1GB' AS $$
BEGIN
    PERFORM semblance_projects.check_right(place, 'curator');
    EXECUTE format('CREATE INDEX ON %I.%I USING hnsw (near %s) WITH (m = %s, ef_construction = %s)',
        place, 'embedding_' || made, semblance_projects.of_vector('halfvec_l2_ops'), neighbours, construction);
    EXECUTE format('ANALYZE %I.%I', place, 'embedding_' || made);
END $$;
CREATE OR REPLACE FUNCTION semblance_projects.drop_embedding(place text, made bigint) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM semblance_projects.check_right(place, 'curator');
    EXECUTE format('DROP TABLE IF EXISTS %I.%I', place, 'embedding_' || made);
    EXECUTE format('DELETE FROM %I.embeddings WHERE number = $1', place) USING made;
END $$;

-- Triggers. The author is the account: only who may become the owner writes in other names, to restore a library. With
-- the argument `restored`, curators add rows of others again: a case that was removed comes back with its notes.
CREATE OR REPLACE FUNCTION semblance_projects.write_author() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT pg_has_role(session_user, current_user, 'MEMBER') AND NOT (tg_op = 'INSERT' AND tg_nargs > 0
        AND new.author <> '' AND semblance_projects.has_right(tg_table_schema, 'curator'))
    THEN
        new.author := CASE tg_op WHEN 'INSERT' THEN session_user::text ELSE old.author END;
    END IF;
    RETURN new;
END $$;
-- The code of a reader belongs to the account that answered first, and the name of another account to that account.
CREATE OR REPLACE FUNCTION semblance_projects.check_reader() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    owned text;
BEGIN
    IF pg_has_role(session_user, current_user, 'MEMBER') THEN
        RETURN new;
    END IF;
    EXECUTE format('INSERT INTO %I.reader_accounts (study, reader, account) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
        tg_table_schema) USING new.study, new.reader, session_user::text;
    EXECUTE format('SELECT account FROM %I.reader_accounts WHERE (study, reader) = ($1, $2)', tg_table_schema)
        INTO owned USING new.study, new.reader;
    IF owned IS DISTINCT FROM session_user::text
        OR EXISTS (SELECT FROM pg_roles WHERE rolname = new.reader AND rolname <> session_user)
    THEN
        RAISE insufficient_privilege USING MESSAGE = 'permission denied: another account answers as this reader';
    END IF;
    RETURN new;
END $$;
-- JSON that everybody reads: arguments are the name of a column and what its text begins with.
CREATE OR REPLACE FUNCTION semblance_projects.check_json() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    value text;
BEGIN
    FOR place IN 0 .. tg_nargs - 2 BY 2 LOOP
        value := to_jsonb(new)->>tg_argv[place];
        IF NOT semblance_audit.is_plain(value, 10000000) OR NOT starts_with(value, tg_argv[place + 1]) THEN
            RAISE check_violation USING MESSAGE = format('%s is no such JSON, too long, too deep or has too large a number',
                tg_argv[place]);
        END IF;
    END LOOP;
    RETURN new;
END $$;
-- Searches are computed again. Written once in a transaction, because an import has many statements. The version is
-- random, because a restored library counts its transactions once more.
CREATE OR REPLACE FUNCTION semblance_projects.note_cases_change() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    EXECUTE format('UPDATE %I.library_state SET cases_version = gen_random_uuid(), changed_by = $1 '
        'WHERE changed_by IS DISTINCT FROM $1', tg_table_schema) USING pg_current_xact_id()::text::bigint;
    RETURN NULL;
END $$;
-- The words of a text, in order, as SQLite's index has them: without case, and Latin letters without accents. Letters and
-- digits of another width or script are those that they stand for, as in the function server_words of the program. Of
-- scripts without spaces between words, each letter is one. An index of words holds no more than a megabyte for a case,
-- and no word of more than 2046 bytes.
CREATE OR REPLACE FUNCTION semblance_projects.words_of(value text, weight text) RETURNS tsvector LANGUAGE sql IMMUTABLE
PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(string_agg(left(word, 500) || ':' || least(place, 16383) || weight, ' ' ORDER BY place)::tsvector, ''::tsvector)
    FROM unnest(regexp_split_to_array(regexp_replace(regexp_replace(normalize(regexp_replace(
        translate(lower(normalize(left(value, 100000), NFKD) COLLATE "pg_c_utf8"),
        'ς٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹०१२३४५६७८९০১২৩৪৫৬৭৮৯', 'σ0123456789012345678901234567890123456789'),
        U&'([a-z])[\0300-\036f]+' COLLATE "pg_c_utf8", '\1', 'g'), NFKC),
        U&'[\0e00-\0eff\1000-\109f\1780-\17ff\3005-\30ff\3400-\4dbf\4e00-\9fff\ac00-\d7a3\f900-\faff]' COLLATE "pg_c_utf8",
        ' \& ', 'g'), '[^[:alnum:]]+' COLLATE "pg_c_utf8", ' ', 'g'), ' ')) WITH ORDINALITY AS words (word, place)
    WHERE word <> ''
$$;
-- The words of a case: the finding, the header and the notes, with a word between that nobody searches for.
CREATE OR REPLACE FUNCTION semblance_projects.case_words_of(finding text, attributes text, notes text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT semblance_projects.words_of(finding, 'A') || '|:1'::tsvector || semblance_projects.words_of((
        SELECT string_agg(value, ' ') FROM json_each_text(attributes::json)
        WHERE key NOT IN ('study', 'series', 'instance', 'issuer', 'of')), '')
        || '|:1'::tsvector || semblance_projects.words_of(notes, 'B')
$$;
CREATE OR REPLACE FUNCTION semblance_projects.index_words(place text, case_row integer, case_name text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    EXECUTE format('INSERT INTO %1$I.case_words ("case", words) SELECT c.id, semblance_projects.case_words_of(c.finding, '
        'c.attributes, concat_ws('' '', (SELECT text FROM %1$I.case_notes n WHERE n."case" = c.id), '
        '(SELECT string_agg(i.notes, '' '' ORDER BY i.id) FROM %1$I.collection_items i WHERE i."case" = c.case_id))) '
        'FROM %1$I.cases c WHERE c.id = $1 OR c.case_id = $2 ON CONFLICT ("case") DO UPDATE SET words = excluded.words',
        place) USING case_row, case_name;
END $$;
CREATE OR REPLACE FUNCTION semblance_projects.keep_case_words() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    changed CONSTANT jsonb := CASE tg_op WHEN 'DELETE' THEN to_jsonb(old) ELSE to_jsonb(new) END;
BEGIN
    IF tg_table_name = 'cases' THEN
        PERFORM semblance_projects.index_words(tg_table_schema, (changed->>'id')::integer, NULL);
    ELSIF tg_table_name = 'case_notes' THEN
        PERFORM semblance_projects.index_words(tg_table_schema, (changed->>'case')::integer, NULL);
    ELSE
        PERFORM semblance_projects.index_words(tg_table_schema, NULL, changed->>'case');
    END IF;
    RETURN NULL;
END $$;

-- The triggers of the library, or of a project.
CREATE OR REPLACE FUNCTION semblance_projects.add_triggers(place text) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    relation text;
    one text;
BEGIN
    FOREACH relation IN ARRAY ARRAY['sources', 'cases', 'lesion_groups', 'feature_sets', 'feature_chunks', 'metrics',
        'searches', 'judgements', 'concepts', 'concept_marks', 'annotations', 'case_notes', 'collections',
        'collection_items', 'reader_studies', 'reader_answers', 'edits', 'meta', 'stored_files', 'export_log']
    LOOP
        FOREACH one IN ARRAY ARRAY['INSERT', 'UPDATE', 'DELETE', 'TRUNCATE'] LOOP
            EXECUTE format('CREATE TRIGGER audited_%s AFTER %s ON %I.%I %s FOR EACH STATEMENT '
                'EXECUTE FUNCTION semblance_audit.count_change()', lower(one), one, place, relation,
                CASE one WHEN 'TRUNCATE' THEN '' WHEN 'DELETE' THEN 'REFERENCING OLD TABLE AS changed_rows'
                    ELSE 'REFERENCING NEW TABLE AS changed_rows' END);
        END LOOP;
    END LOOP;
    FOREACH relation IN ARRAY ARRAY['meta', 'sources', 'files', 'cases', 'slices', 'lesion_groups', 'feature_sets',
        'feature_chunks', 'feature_failures', 'metrics', 'edits']
    LOOP
        EXECUTE format('CREATE TRIGGER cases_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON %I.%I '
            'FOR EACH STATEMENT EXECUTE FUNCTION semblance_projects.note_cases_change()', place, relation);
    END LOOP;
    FOREACH relation IN ARRAY ARRAY['judgements', 'concepts', 'concept_marks', 'edits'] LOOP
        EXECUTE format('CREATE TRIGGER author_is_account BEFORE INSERT OR UPDATE ON %I.%I '
            'FOR EACH ROW EXECUTE FUNCTION semblance_projects.write_author()', place, relation);
    END LOOP;
    FOREACH relation IN ARRAY ARRAY['annotations', 'case_notes', 'collections', 'collection_items'] LOOP
        EXECUTE format('CREATE TRIGGER author_is_account BEFORE INSERT OR UPDATE ON %I.%I '
            'FOR EACH ROW EXECUTE FUNCTION semblance_projects.write_author(''restored'')', place, relation);
    END LOOP;
    EXECUTE format('CREATE TRIGGER reader_is_account BEFORE INSERT OR UPDATE ON %I.reader_answers '
        'FOR EACH ROW EXECUTE FUNCTION semblance_projects.check_reader()', place);
    EXECUTE format('CREATE TRIGGER json_is_plain BEFORE INSERT OR UPDATE ON %I.judgements '
        'FOR EACH ROW EXECUTE FUNCTION semblance_projects.check_json(''region'', ''{'', ''shown'', ''['')', place);
    EXECUTE format('CREATE TRIGGER json_is_plain BEFORE INSERT OR UPDATE ON %I.searches '
        'FOR EACH ROW EXECUTE FUNCTION semblance_projects.check_json(''state'', ''{'')', place);
    EXECUTE format('CREATE TRIGGER json_is_plain BEFORE INSERT OR UPDATE ON %I.annotations '
        'FOR EACH ROW EXECUTE FUNCTION semblance_projects.check_json(''data'', ''{'')', place);
    EXECUTE format('CREATE TRIGGER json_is_plain BEFORE INSERT OR UPDATE ON %I.collection_items '
        'FOR EACH ROW EXECUTE FUNCTION semblance_projects.check_json(''region'', ''{'')', place);
    EXECUTE format('CREATE TRIGGER case_words_added AFTER INSERT ON %I.cases '
        'FOR EACH ROW EXECUTE FUNCTION semblance_projects.keep_case_words()', place);
    EXECUTE format('CREATE TRIGGER case_words_changed AFTER UPDATE OF finding, attributes ON %I.cases FOR EACH ROW '
        'WHEN ((old.finding, old.attributes) IS DISTINCT FROM (new.finding, new.attributes)) '
        'EXECUTE FUNCTION semblance_projects.keep_case_words()', place);
    FOREACH relation IN ARRAY ARRAY['case_notes', 'collection_items'] LOOP
        EXECUTE format('CREATE TRIGGER case_words_noted AFTER INSERT OR UPDATE OR DELETE ON %I.%I '
            'FOR EACH ROW EXECUTE FUNCTION semblance_projects.keep_case_words()', place, relation);
    END LOOP;
END $$;

RESET ROLE;
