/**
 * The schema of state.db, one entry a version; `user_version` counts how many have run. Never edit one that was
 * released: add the next. JSON columns hold our own types, written and read by the module named after the table.
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE identity (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    fleet TEXT NOT NULL, site TEXT NOT NULL, agent TEXT NOT NULL,
    key TEXT NOT NULL, pinned_root TEXT NOT NULL, request TEXT NOT NULL
  ) STRICT;
  CREATE TABLE trust (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    channel TEXT, time_floor TEXT, site_values TEXT,
    desired_release TEXT, desired_bundles TEXT NOT NULL DEFAULT '[]', prune_confirmed INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE TABLE root (version INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
  CREATE TABLE statement (
    role TEXT NOT NULL, scope TEXT NOT NULL, digest TEXT NOT NULL, version INTEGER NOT NULL,
    issued_at TEXT, expires TEXT, envelopes TEXT NOT NULL, current INTEGER NOT NULL,
    PRIMARY KEY (role, scope, digest)
  ) STRICT;
  CREATE TABLE site_values (digest TEXT PRIMARY KEY, document TEXT NOT NULL) STRICT;
  CREATE TABLE revoked (digest TEXT PRIMARY KEY) STRICT;
  CREATE TABLE bundle (digest TEXT PRIMARY KEY, kind TEXT NOT NULL, blobs TEXT NOT NULL) STRICT;
  CREATE TABLE package (
    assignment TEXT PRIMARY KEY,
    desired TEXT, current TEXT, previous TEXT, pinned_release INTEGER,
    status TEXT NOT NULL, code TEXT, message TEXT, checks TEXT NOT NULL DEFAULT '[]', drift TEXT, since TEXT NOT NULL
  ) STRICT;
  CREATE TABLE failed (
    assignment TEXT NOT NULL, identity TEXT NOT NULL, code TEXT NOT NULL, message TEXT NOT NULL, at TEXT NOT NULL,
    PRIMARY KEY (assignment, identity)
  ) STRICT;
  CREATE TABLE owned (key TEXT PRIMARY KEY, assignment TEXT NOT NULL, state TEXT NOT NULL) STRICT;
  CREATE INDEX owned_by ON owned (assignment);
  CREATE TABLE operation (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    assignment TEXT NOT NULL, kind TEXT NOT NULL, from_ref TEXT, to_ref TEXT,
    phase TEXT NOT NULL, rolling_back INTEGER NOT NULL DEFAULT 0,
    plan TEXT, next_step INTEGER NOT NULL DEFAULT 0,
    checks TEXT NOT NULL DEFAULT '[]', handed TEXT NOT NULL DEFAULT '[]', outcome TEXT, code TEXT, message TEXT,
    started_at TEXT NOT NULL, ended_at TEXT
  ) STRICT;
  CREATE INDEX operation_open ON operation (id) WHERE ended_at IS NULL;
  CREATE TABLE result (
    operation INTEGER NOT NULL REFERENCES operation (id) ON DELETE CASCADE,
    rolling_back INTEGER NOT NULL, step INTEGER NOT NULL, key TEXT NOT NULL, outcome TEXT NOT NULL, reason TEXT NOT NULL,
    PRIMARY KEY (operation, rolling_back, step)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE outbox (seq INTEGER PRIMARY KEY, hash TEXT NOT NULL, line TEXT NOT NULL) STRICT;
  CREATE TABLE chain (one INTEGER PRIMARY KEY CHECK (one = 1), next_seq INTEGER NOT NULL, head TEXT NOT NULL) STRICT;
  `,
  `
  CREATE TABLE pull (digest TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
  CREATE TABLE pointer (reference TEXT PRIMARY KEY, digest TEXT NOT NULL) STRICT;
  CREATE TABLE refusal (what TEXT PRIMARY KEY) STRICT;
  `,
  `
  CREATE TABLE secret_set (name TEXT PRIMARY KEY, digest TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE secret_use (package TEXT PRIMARY KEY, names TEXT) STRICT, WITHOUT ROWID;
  `,
  `
  CREATE TABLE condition (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
  `,
  `
  ALTER TABLE package ADD COLUMN pinned_reason TEXT;
  ALTER TABLE failed ADD COLUMN checks TEXT NOT NULL DEFAULT '[]';
  `,
  `
  CREATE TABLE attempt (
    assignment TEXT NOT NULL, what TEXT NOT NULL, tries INTEGER NOT NULL, next TEXT NOT NULL,
    PRIMARY KEY (assignment, what)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  ALTER TABLE outbox ADD COLUMN last_seq INTEGER;
  `,
  `
  CREATE TABLE local_value (name TEXT PRIMARY KEY, edit TEXT NOT NULL, signature TEXT NOT NULL) STRICT, WITHOUT ROWID;
  `,
];

/**
 * The oldest schema whose agents can work with a database of the newest one, which goes into the database as `application_id`. A host goes
 * back to an older agent when a system of two slots fails, and nothing could mend an agent that does not start there. A migration that only
 * adds tables, and columns with defaults, leaves this number. One whose content an older agent would lose or refuse raises it.
 */
export const USABLE_FROM = 8;
