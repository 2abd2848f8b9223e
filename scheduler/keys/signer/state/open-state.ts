import { join } from 'node:path';
import SQLite from 'better-sqlite3';
import type { Digest } from '#bundles/digest';
import { FleetError, toFleetError } from '#bundles/errors';
import { createDirectory } from '#bundles/formats/layout/create-directory';
import { tryExclusiveLock } from '#cli/exclusive-lock';
import { keepDatabasePrivate } from '#cli/keep-private';
import {
  EVIDENCE_SCHEMA,
  type EvidenceState,
  PAST_AGENTS_SCHEMA,
  openEvidence,
  RESTATED_SCHEMA,
} from './evidence-state.ts';

/** A signed version of a line of statements ('release:prod/kiosk', 'site:plant-7', 'lease:prod/kiosk'). */
export type SignedVersion = {
  readonly version: number;
  /** Digest of the payload. */
  readonly payload: Digest;
  /** For a release: the payload digest of its predecessor. */
  readonly previous: Digest | null;
};

/** Digests of values documents; `before` null: there was none. `at`: when the newer one was first signed, Unix milliseconds; 0: the state is older than this field. */
export type SignedValues = { readonly digest: Digest; readonly before: Digest | null; readonly at: number };

/** The persistent state of a signer: versions and digests, what it knows of agents and their reports, but no private keys. */
export type SignerState = Disposable & {
  /** The newest versions of a line, newest first. */
  readonly signed: (line: string) => readonly SignedVersion[];
  readonly revoked: (channel: string) => ReadonlySet<Digest>;
  /** Number of signatures of a kind since a time in Unix milliseconds. */
  readonly countSince: (sort: string, since: number) => number;
  /** Runs `work` in a durable transaction: its writes are on disk when this returns. */
  readonly commit: <T>(work: () => T) => T;
  /** When a shared digest was first released in an environment of the chain, Unix milliseconds; undefined: never. */
  readonly releasedSince: (environment: string, shared: Digest) => number | undefined;
  /** The shared digest of the newest promotion to an environment. */
  readonly promoted: (environment: string) => Digest | undefined;
  /** Whether this signer signed a promotion of this shared digest to the environment at any time. */
  readonly wasPromoted: (environment: string, shared: Digest) => boolean;
  /** State about agents and their reports. */
  readonly evidence: EvidenceState;
  /** The values document of the newest statement signed for a site, and the one before it; undefined: none is known. */
  readonly valuesOf: (site: string) => SignedValues | undefined;
  readonly setValues: (site: string, digest: Digest, at: number) => void;
  /** The release of a channel, by its number, whose layers were shown last; undefined: none was. */
  readonly layersOf: (channel: string) => number | undefined;
  readonly setLayersOf: (channel: string, version: number) => void;
  /** When the newest statement about a bundle that was shown with layers was built, Unix milliseconds; undefined: none was shown. */
  readonly statedAt: (channel: string, bundle: Digest) => number | undefined;
  readonly setStatedAt: (channel: string, bundle: Digest, builtAt: number) => void;
  /** Names of values that a release of the channel hid by its schema, of all releases that were shown. */
  readonly hiddenBy: (channel: string) => ReadonlySet<string>;
  readonly addHidden: (channel: string, names: Iterable<string>) => void;
  readonly addReleased: (environment: string, shared: readonly Digest[], at: number) => void;
  readonly setPromoted: (environment: string, shared: Digest) => void;
  readonly addSigned: (line: string, signed: SignedVersion) => void;
  readonly addRevoked: (channel: string, digests: readonly Digest[]) => void;
  readonly count: (sort: string, at: number) => void;
};

/** Versions kept per line, which a release may follow. Enough for a layout that is far behind. */
const KEPT_VERSIONS = 128;
/** The period that limits count over. */
const COUNTED_MS = 3_600_000;

const SCHEMA = `
  CREATE TABLE signed (line TEXT, version INTEGER, payload TEXT NOT NULL, previous TEXT, PRIMARY KEY (line, version)) WITHOUT ROWID;
  CREATE TABLE revoked (channel TEXT, digest TEXT, PRIMARY KEY (channel, digest)) WITHOUT ROWID;
  CREATE TABLE counted (sort TEXT, at INTEGER);
  CREATE INDEX counted_at ON counted (sort, at);
  PRAGMA user_version = 1;
`;
/** Promotions recorded by a signer with a chain. */
const CHAIN_SCHEMA = `
  CREATE TABLE released (environment TEXT, shared TEXT, at INTEGER NOT NULL, PRIMARY KEY (environment, shared)) WITHOUT ROWID;
  CREATE TABLE promoted (environment TEXT PRIMARY KEY, shared TEXT NOT NULL) WITHOUT ROWID;
  PRAGMA user_version = 2;
`;
/** The values document of each site's newest statement, and the one before it. */
const VALUES_SCHEMA = `
  CREATE TABLE site_values (site TEXT PRIMARY KEY, digest TEXT NOT NULL, before TEXT) WITHOUT ROWID;
  PRAGMA user_version = 6;
`;
/** The newest release and statements whose layers were shown. */
const LAYERS_SCHEMA = `
  ALTER TABLE site_values ADD COLUMN at INTEGER NOT NULL DEFAULT 0;
  CREATE TABLE layers_of (channel TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE stated (channel TEXT, bundle TEXT, built_at INTEGER NOT NULL, PRIMARY KEY (channel, bundle)) WITHOUT ROWID;
  PRAGMA user_version = 7;
`;
/** Names of values that a shown release hid. */
const HIDDEN_SCHEMA = `
  CREATE TABLE hidden_by (channel TEXT, name TEXT, PRIMARY KEY (channel, name)) WITHOUT ROWID;
  PRAGMA user_version = 8;
`;
/** The steps from each version of the state to the next. */
const STEPS = [
  SCHEMA,
  CHAIN_SCHEMA,
  EVIDENCE_SCHEMA,
  RESTATED_SCHEMA,
  PAST_AGENTS_SCHEMA,
  VALUES_SCHEMA,
  LAYERS_SCHEMA,
  HIDDEN_SCHEMA,
];

/**
 * Opens or creates the state of a signer in `directory` and locks it: two signers would each know only some of the signed
 * versions. @throws FleetError BUSY, PERMISSION, IO, DISK_FULL, STORE_CORRUPT
 */
export const openSignerState = async (directory: string): Promise<SignerState> => {
  try {
    await createDirectory(directory, 0o700);
    const lock = tryExclusiveLock(join(directory, 'lock'));
    if (!lock) {
      throw new FleetError('BUSY', `another signer works with ${directory}`, {
        hint: 'Stop it first, or give another --state and other keys',
      });
    }
    try {
      return openDatabase(join(directory, 'signed.sqlite'), lock);
    } catch (error) {
      lock[Symbol.dispose]();
      throw error;
    }
  } catch (error) {
    throw stateError(error, directory);
  }
};

const openDatabase = (file: string, lock: Disposable): SignerState => {
  keepDatabasePrivate(file);
  const db = new SQLite(file);
  db.pragma('journal_mode = WAL');
  // Each commit waits for the disk: a lost version could be signed twice.
  db.pragma('synchronous = FULL');
  const version = db.pragma('user_version', { simple: true }) as number;
  if (version > STEPS.length)
    throw new FleetError('STORE_CORRUPT', `${file} was written by a newer version of this program`, {
      hint: 'Start that version again, or give another --state',
    });
  for (const step of STEPS.slice(version)) db.exec(`BEGIN; ${step} COMMIT;`);
  const newest = db.prepare(
    'SELECT version, payload, previous FROM signed WHERE line = ? ORDER BY version DESC LIMIT ?',
  );
  const revoked = db.prepare('SELECT digest FROM revoked WHERE channel = ?').pluck();
  const since = db.prepare('SELECT count(*) FROM counted WHERE sort = ? AND at > ?').pluck();
  const add = db.prepare('INSERT INTO signed VALUES (?, ?, ?, ?)');
  const forget = db.prepare('DELETE FROM signed WHERE line = ? AND version <= ?');
  const revoke = db.prepare('INSERT OR IGNORE INTO revoked VALUES (?, ?)');
  const releasedAt = db.prepare('SELECT at FROM released WHERE environment = ? AND shared = ?').pluck();
  const promotedTo = db.prepare('SELECT shared FROM promoted WHERE environment = ?').pluck();
  const release = db.prepare('INSERT OR IGNORE INTO released VALUES (?, ?, ?)');
  const promote = db.prepare('INSERT OR REPLACE INTO promoted VALUES (?, ?)');
  const promotedBefore = db
    .prepare('SELECT 1 FROM promoted_before WHERE environment = ? AND shared = ?')
    .pluck();
  const rememberPromoted = db.prepare('INSERT OR IGNORE INTO promoted_before VALUES (?, ?)');
  const values = db.prepare('SELECT digest, before, at FROM site_values WHERE site = ?');
  const setValues = db.prepare(
    'INSERT INTO site_values VALUES (?, ?, NULL, ?) ON CONFLICT (site) DO UPDATE SET before = digest, digest = excluded.digest, at = excluded.at WHERE digest <> excluded.digest',
  );
  const layersOf = db.prepare('SELECT version FROM layers_of WHERE channel = ?').pluck();
  const setLayersOf = db.prepare(
    'INSERT INTO layers_of VALUES (?, ?) ON CONFLICT (channel) DO UPDATE SET version = max(version, excluded.version)',
  );
  const statedAt = db.prepare('SELECT built_at FROM stated WHERE channel = ? AND bundle = ?').pluck();
  const setStatedAt = db.prepare(
    'INSERT INTO stated VALUES (?, ?, ?) ON CONFLICT (channel, bundle) DO UPDATE SET built_at = max(built_at, excluded.built_at)',
  );
  const hiddenBy = db.prepare('SELECT name FROM hidden_by WHERE channel = ?').pluck();
  const hide = db.prepare('INSERT OR IGNORE INTO hidden_by VALUES (?, ?)');
  const count = db.prepare('INSERT INTO counted VALUES (?, ?)');
  const discount = db.prepare('DELETE FROM counted WHERE sort = ? AND at <= ?');
  return {
    signed: (line) => newest.all(line, KEPT_VERSIONS) as SignedVersion[],
    revoked: (channel) => new Set(revoked.all(channel) as Digest[]),
    countSince: (sort, from) => since.get(sort, from) as number,
    releasedSince: (environment, shared) => releasedAt.get(environment, shared) as number | undefined,
    promoted: (environment) => promotedTo.get(environment) as Digest | undefined,
    addReleased: (environment, shared, at) => {
      for (const digest of shared) release.run(environment, digest, at);
    },
    setPromoted: (environment, shared) => {
      promote.run(environment, shared);
      rememberPromoted.run(environment, shared);
    },
    wasPromoted: (environment, shared) => promotedBefore.get(environment, shared) !== undefined,
    valuesOf: (site) => values.get(site) as SignedValues | undefined,
    setValues: (site, digest, at) => void setValues.run(site, digest, at),
    layersOf: (channel) => layersOf.get(channel) as number | undefined,
    setLayersOf: (channel, number) => void setLayersOf.run(channel, number),
    statedAt: (channel, bundle) => statedAt.get(channel, bundle) as number | undefined,
    setStatedAt: (channel, bundle, builtAt) => void setStatedAt.run(channel, bundle, builtAt),
    hiddenBy: (channel) => new Set(hiddenBy.all(channel) as string[]),
    addHidden: (channel, names) => {
      for (const name of names) hide.run(channel, name);
    },
    evidence: openEvidence(db),
    commit: (work) => {
      try {
        return db.transaction(work).immediate();
      } catch (error) {
        // Names the signer's state, because the hub shows this message and has a disk of its own.
        throw error instanceof SQLite.SqliteError ? toFleetError(error, "writing the signer's state") : error;
      }
    },
    addSigned: (line, signed) => {
      add.run(line, signed.version, signed.payload, signed.previous);
      const oldest = (newest.all(line, KEPT_VERSIONS) as SignedVersion[]).at(-1);
      if (oldest) forget.run(line, oldest.version - 1);
    },
    addRevoked: (channel, digests) => {
      for (const digest of digests) revoke.run(channel, digest);
    },
    count: (sort, at) => {
      discount.run(sort, at - COUNTED_MS);
      count.run(sort, at);
    },
    [Symbol.dispose]: () => {
      db.close();
      lock[Symbol.dispose]();
    },
  };
};

const stateError = (error: unknown, directory: string): FleetError => {
  if (!(error instanceof SQLite.SqliteError)) return toFleetError(error, `opening ${directory}`);
  const { code, message } = error;
  if (/^SQLITE_(?:CANTOPEN|READONLY|PERM|AUTH)/.test(code))
    return new FleetError('PERMISSION', `${directory} cannot be written: ${message}`, { cause: error });
  if (/^SQLITE_(?:CORRUPT|NOTADB)/.test(code)) {
    return new FleetError('STORE_CORRUPT', `the state in ${directory} is damaged: ${message}`, {
      cause: error,
      hint: 'Restore the last copy; without one, remove it, and the first request of each channel must show its last release',
    });
  }
  return toFleetError(error, `opening ${directory}`);
};
