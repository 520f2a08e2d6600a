-- A file of ratings. Every statement here is part of one transaction, together with the pairs.
CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;

CREATE TABLE pair (
  id INTEGER PRIMARY KEY,
  item INTEGER NOT NULL,    -- the target, counted over all models
  method INTEGER NOT NULL,  -- position among the plan's methods
  model INTEGER NOT NULL,
  target TEXT NOT NULL,
  neighbor TEXT NOT NULL,
  target_svg TEXT NOT NULL,
  neighbor_svg TEXT NOT NULL,
  target_note TEXT NOT NULL,
  neighbor_note TEXT NOT NULL,
  classes TEXT NOT NULL,    -- JSON: label and name of each class drawn
  UNIQUE (item, method)
) STRICT;

CREATE TABLE rater (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  folded TEXT NOT NULL UNIQUE,  -- the name without case
  secret TEXT NOT NULL UNIQUE,
  since TEXT NOT NULL
) STRICT;

CREATE TABLE answer (
  id INTEGER PRIMARY KEY,
  rater INTEGER NOT NULL REFERENCES rater (id),
  pair INTEGER NOT NULL REFERENCES pair (id),
  answer TEXT NOT NULL CHECK (answer IN ('similar', 'different', 'skipped')),
  key TEXT NOT NULL UNIQUE,     -- made with the page that asked: the same click is recorded once
  at TEXT NOT NULL,
  undo_key TEXT UNIQUE,
  undone_at TEXT
) STRICT;

-- one answer of a rater to a pair; those that were taken back stay on record
CREATE UNIQUE INDEX one_answer ON answer (rater, pair) WHERE undone_at IS NULL;
