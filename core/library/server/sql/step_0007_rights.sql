-- From revision 0007, second part, after the pages of functions: the new tables of projects, triggers, rights, and the
-- index of texts.

SET LOCAL ROLE :"owner";
DO $step$
DECLARE
    new CONSTANT text[] := ARRAY['annotations', 'case_notes', 'collections', 'collection_items', 'case_words'];
    place text;
BEGIN
    FOR place IN SELECT 'semblance' UNION ALL SELECT p.place FROM semblance.projects p LOOP
        IF place <> 'semblance' THEN
            PERFORM semblance_projects.add_tables(place, new);
        END IF;
        PERFORM semblance_projects.add_triggers(place);
        PERFORM semblance_projects.share(place, t.name, t.writers) FROM semblance_projects.tables() t
            WHERE t.name = ANY(new);
        EXECUTE format('INSERT INTO %1$I.case_words ("case", words) '
            'SELECT id, semblance_projects.case_words_of(finding, attributes, '''') FROM %1$I.cases', place);
    END LOOP;
END $step$;
RESET ROLE;
