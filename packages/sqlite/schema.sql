-- Version 6, as SQLite tells it.

CREATE TABLE delivery (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    receiver INTEGER NOT NULL REFERENCES receiver,
    arrived_at INTEGER NOT NULL,
    ack_ms REAL NOT NULL,
    state INTEGER NOT NULL,
    -- Where it waits or is leased: see queue.ts. Null at the end of its way.
    queue INTEGER,
    rank INTEGER,
    -- How often work on it began since an outcome was recorded.
    starts INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0,
    due_at INTEGER,
    give_way INTEGER NOT NULL DEFAULT 0,
    verification TEXT,
    type TEXT,
    report TEXT,
    reason TEXT,
    reason_message TEXT,
    released INTEGER NOT NULL DEFAULT 0,
    memo TEXT,
    last_error TEXT,
    -- Null until its first attempt has ended.
    changed_at INTEGER,
    -- How long it is kept from changed_at on: 0 rejected, 1 unsigned, 2 handled, 3 parked.
    kept_as INTEGER,
    history TEXT,
    -- Until the verdict.
    signature TEXT,
    same_signature_as TEXT,
    url TEXT NOT NULL,
    headers TEXT NOT NULL,
    body BLOB
  , context TEXT, announced_at INTEGER);

CREATE INDEX delivery_ended ON delivery (kept_as, changed_at) WHERE kept_as IS NOT NULL;

CREATE INDEX delivery_queue ON delivery (receiver, queue, rank) WHERE queue IS NOT NULL;

CREATE INDEX delivery_reason ON delivery (receiver, reason, id) WHERE reason IS NOT NULL;

CREATE INDEX delivery_report ON delivery (receiver, report, id) WHERE report IS NOT NULL;

CREATE INDEX delivery_state ON delivery (receiver, state, id);

CREATE INDEX delivery_type ON delivery (receiver, type, id) WHERE type IS NOT NULL;

CREATE TABLE lived (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    lived_at INTEGER NOT NULL,
    wall_at INTEGER NOT NULL,
    furthest_at INTEGER NOT NULL,
    unseen_ms INTEGER NOT NULL,
    held_ms INTEGER NOT NULL
  );

CREATE TABLE owner (
    number INTEGER PRIMARY KEY,
    beat INTEGER NOT NULL
  , process TEXT);

CREATE TABLE receiver (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
  );

CREATE TABLE retention (
    handled_ms REAL NOT NULL,
    parked_ms REAL NOT NULL
  );

CREATE TABLE "seen" (
    last INTEGER PRIMARY KEY,
    number INTEGER NOT NULL,
    seqs TEXT NOT NULL,
    ids TEXT NOT NULL,
    times TEXT NOT NULL,
    keys BLOB NOT NULL
  );

CREATE TABLE seen_before (
    key BLOB PRIMARY KEY,
    seq INTEGER NOT NULL
  ) WITHOUT ROWID;

CREATE TABLE tally (
    receiver INTEGER NOT NULL REFERENCES receiver,
    kind INTEGER NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (receiver, kind)
  ) WITHOUT ROWID;
