import type { KeptStatement, TrustState } from '#bundles/trust/accept/trust-state';
import type { Digest } from '#bundles/digest';
import { type Channel, formatChannel, parseChannel } from '#bundles/names';
import type { Floors } from '#bundles/formats/statements/predicates';
import { formatTime, parseTime, type Timestamp } from '#bundles/time';
import { parseRoot, type TrustRoot } from '#bundles/trust/root/root';
import { type Identity, readIdentity } from './identity.ts';
import type { ReleaseRef } from './applied/package-ref.ts';
import type { State } from './state.ts';

/** The single row of accepted and desired state. */
export type TrustRow = {
  readonly channel: Channel | undefined;
  readonly timeFloor: Date | undefined;
  /** Digest of the site values in force. */
  readonly siteValues: Digest | undefined;
  /** The release of the desired packages. Older than the newest accepted one while a rollout excludes this agent. */
  readonly desiredRelease: ReleaseRef | undefined;
  readonly desiredBundles: readonly Digest[];
  /** An operator confirmed that this release may remove more than the prune budget. */
  readonly pruneConfirmed: boolean;
};

type RawTrust = {
  readonly channel: string | null;
  readonly time_floor: Timestamp | null;
  readonly site_values: Digest | null;
  readonly desired_release: string | null;
  readonly desired_bundles: string;
  readonly prune_confirmed: number;
};

export const readTrustRow = ({ db }: State): TrustRow => {
  const row = db.prepare('SELECT * FROM trust').get() as RawTrust;
  return {
    channel: row.channel === null ? undefined : parseChannel(row.channel),
    timeFloor: row.time_floor === null ? undefined : parseTime(row.time_floor),
    siteValues: row.site_values ?? undefined,
    desiredRelease:
      row.desired_release === null ? undefined : (JSON.parse(row.desired_release) as ReleaseRef),
    desiredBundles: JSON.parse(row.desired_bundles) as Digest[],
    pruneConfirmed: row.prune_confirmed === 1,
  };
};

export const saveTrustRow = ({ db }: State, row: TrustRow): void => {
  db.prepare(
    `UPDATE trust SET channel = @channel, time_floor = @timeFloor, site_values = @siteValues,
     desired_release = @desiredRelease, desired_bundles = @desiredBundles, prune_confirmed = @pruneConfirmed`,
  ).run({
    channel: row.channel ? formatChannel(row.channel) : null,
    timeFloor: row.timeFloor ? formatTime(row.timeFloor) : null,
    siteValues: row.siteValues ?? null,
    desiredRelease: row.desiredRelease ? JSON.stringify(row.desiredRelease) : null,
    desiredBundles: JSON.stringify(row.desiredBundles),
    pruneConfirmed: row.pruneConfirmed ? 1 : 0,
  });
};

/** The trusted root; undefined until the first offer was accepted. */
export const readRoot = ({ db }: State): TrustRoot | undefined => {
  const row = db.prepare('SELECT bytes FROM root ORDER BY version DESC LIMIT 1').get() as
    | { bytes: Buffer }
    | undefined;
  return row && parseRoot(row.bytes);
};

/** Version of the trusted root, without verifying it again; 0 without a root. */
const readRootVersion = ({ db }: State): number =>
  (db.prepare('SELECT coalesce(max(version), 0) AS version FROM root').get() as { version: number }).version;

export const saveRoot = ({ db }: State, root: TrustRoot): void => {
  db.prepare('INSERT OR REPLACE INTO root VALUES (?, ?)').run(root.version, root.bytes);
};

/** Scope: '' for 'site', the channel for 'release' and 'lease', the bundle's digest for 'bundle'. */
export type StatementRole = 'site' | 'release' | 'bundle' | 'lease';

export type StoredStatement = KeptStatement & {
  readonly issuedAt: Timestamp | undefined;
  readonly expires: Timestamp | undefined;
};

type RawStatement = {
  readonly digest: Digest;
  readonly version: number;
  readonly issued_at: Timestamp | null;
  readonly expires: Timestamp | null;
  readonly envelopes: string;
};

/** The statement in force. */
export const readStatement = (
  { db }: State,
  role: StatementRole,
  scope: string,
): StoredStatement | undefined => {
  const row = db
    .prepare('SELECT * FROM statement WHERE role = ? AND scope = ? AND current = 1')
    .get(role, scope) as RawStatement | undefined;
  return (
    row && {
      digest: row.digest,
      version: row.version,
      issuedAt: row.issued_at ?? undefined,
      expires: row.expires ?? undefined,
      envelopes: (JSON.parse(row.envelopes) as string[]).map((text) => Buffer.from(text, 'base64')),
    }
  );
};

/** Puts a statement in force. The last former ones stay for audits (collect-garbage.ts), except leases, which may be issued daily. */
export const saveStatement = (
  { db }: State,
  role: StatementRole,
  scope: string,
  statement: StoredStatement,
): void => {
  const before =
    role === 'lease'
      ? 'DELETE FROM statement WHERE role = ? AND scope = ?'
      : 'UPDATE statement SET current = 0 WHERE role = ? AND scope = ?';
  db.prepare(before).run(role, scope);
  db.prepare('INSERT OR REPLACE INTO statement VALUES (?, ?, ?, ?, ?, ?, ?, 1)').run(
    role,
    scope,
    statement.digest,
    statement.version,
    statement.issuedAt ?? null,
    statement.expires ?? null,
    JSON.stringify(statement.envelopes.map((bytes) => Buffer.from(bytes).toString('base64'))),
  );
};

/** The newest lease of each channel, sorted by channel. */
export const readLeases = (state: State) => statementsInForce(state, 'lease');

export const deleteLease = ({ db }: State, channel: string): void => {
  db.prepare("DELETE FROM statement WHERE role = 'lease' AND scope = ?").run(channel);
};

/** The state that acceptance judges an offer against. @throws FleetError NOT_ENROLLED */
export const readTrustState = (state: State): TrustState => {
  const { fleet, site, agent, key, pinnedRoot }: Identity = readIdentity(state);
  const { channel, timeFloor } = readTrustRow(state);
  const current = channel && formatChannel(channel);
  return {
    fleet,
    site,
    agent,
    key,
    pinnedRoot,
    root: readRoot(state),
    siteStatement: readStatement(state, 'site', ''),
    release: channel && readStatement(state, 'release', formatChannel(channel)),
    formerReleases: statementsInForce(state, 'release')
      .filter(({ scope }) => scope !== current)
      .map(({ it }) => it),
    leases: readLeases(state).map(({ it }) => it),
    revoked: readRevoked(state),
    channel,
    time: timeFloor,
  };
};

/** One statement per channel, including channels that this agent no longer follows, whose floors still apply. */
const statementsInForce = (
  state: State,
  role: 'release' | 'lease',
): readonly { readonly scope: string; readonly it: StoredStatement }[] => {
  const rows = state.db
    .prepare('SELECT scope FROM statement WHERE role = ? AND current = 1 ORDER BY scope')
    .all(role) as { readonly scope: string }[];
  return rows.flatMap(({ scope }) => {
    const it = readStatement(state, role, scope);
    return it ? [{ scope, it }] : [];
  });
};

/** The rollback floors as reported: the lowest versions that this agent accepts, 0 before the first acceptance. */
export const readFloors = (state: State): Floors => {
  const { channel, timeFloor } = readTrustRow(state);
  return {
    root: readRootVersion(state),
    site: readStatement(state, 'site', '')?.version ?? 0,
    release: (channel && readStatement(state, 'release', formatChannel(channel))?.version) ?? 0,
    lease: (channel && readStatement(state, 'lease', formatChannel(channel))?.version) ?? 0,
    time: formatTime(timeFloor ?? new Date(0)),
  };
};

export const isRevoked = ({ db }: State, ...digests: readonly Digest[]): boolean => {
  const known = db.prepare('SELECT 1 FROM revoked WHERE digest = ?');
  return digests.some((digest) => known.get(digest) !== undefined);
};

const readRevoked = ({ db }: State): readonly Digest[] =>
  (db.prepare('SELECT digest FROM revoked ORDER BY digest').all() as { readonly digest: Digest }[]).map(
    ({ digest }) => digest,
  );

/**
 * Replaces the list of revoked digests. It contains earlier revocations while the release that set them is valid, so the root
 * can undo the revocations of a stolen key by no longer trusting that key.
 */
export const saveRevoked = ({ db }: State, digests: readonly Digest[]): void => {
  db.prepare('DELETE FROM revoked').run();
  const insert = db.prepare('INSERT OR IGNORE INTO revoked VALUES (?)');
  for (const digest of digests) insert.run(digest);
};
