-- Every reading of counts asks whether batches are held: however long the journal is. Other batches cost nothing.
CREATE INDEX click_journal_held ON click_journal (recorder, number) WHERE held;
-- Whoever deletes a link takes its change out again, once it was told: however many others are still untold.
CREATE INDEX link_changes_short_code ON link_changes (short_code);
