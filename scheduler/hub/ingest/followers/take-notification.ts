import { type Digest, digestOf, shortDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { formatChannel } from '#bundles/names';
import { formatTime } from '#bundles/time';
import type { Hub } from '../../hub.ts';
import { channelOf } from '../../sites/agent-record.ts';
import type { AgentRow, FollowerObjectRow, Tx } from '../../store/tables.ts';
import { type FoundBundle, type ReleasedBundles, releasedBundles } from './find-bundle.ts';
import { bundleAt } from './tree-commits.ts';
import { type FollowerState, invalid, type Notification } from './notification.ts';
import { type NewEvent, storeEvents } from './store-events.ts';

/** `known`: handed over before. `older`: something newer about its object is known. `noted`: it says nothing about a state. */
export type NotificationResult = 'taken' | 'known' | 'older' | 'noted';

/** How far a cluster's clock may run ahead. */
const AHEAD_MS = 300_000;
/** Objects of one follower: as many as a bundle may have assignments, and their sources. */
const MAX_OBJECTS = 20_000;

/**
 * Processes a notification about one object of a follower. Its facts are stored like facts of agents' reports. Three rules keep
 * health from counting for a release that it is not about: the revision must be a bundle of the follower's channel; a release
 * counts as accepted when every assignment of its bundle was reported with that revision, after the release was issued; and the
 * time of a fact is that of its arrival. Repetitions that change nothing only make its word younger.
 * @param body the bytes that were posted
 * @throws FleetError NOTIFICATION_INVALID, TOO_MANY, REVOKED, BUSY, DISK_FULL
 */
export const takeNotification = async (
  hub: Hub,
  follower: AgentRow,
  {
    notification,
    body,
    now,
    bundles = releasedBundles(hub, channelOf(follower)),
  }: {
    readonly notification: Notification;
    readonly body: Uint8Array;
    readonly now: Date;
    /** Shared by the notifications of one post. */
    readonly bundles?: ReleasedBundles;
  },
): Promise<NotificationResult> => {
  const { at, commit, word, object } = notification;
  if (new Date(at).getTime() > now.getTime() + AHEAD_MS)
    throw invalid(
      `${object} reports for ${at}, and now it is ${formatTime(now)}`,
      'Set the clock of the cluster',
    );
  if (word === null) return 'noted';
  const inTree = commit === null ? undefined : await bundleAt(hub.store.db, follower, commit);
  const named = notification.package && (await bundles.findWith(notification.package));
  const bundle = inTree ?? named ?? notification.bundle;
  // An application's own repository, or a commit of the tree that is not read yet: Flux repeats what it says.
  if (bundle === null && commit !== null && word.kind !== 'failed') return 'noted';
  const found = bundle === null ? undefined : await bundles.find(bundle);
  if (!found && (bundle !== null || word.kind !== 'failed'))
    throw invalid(
      `${object} names ${bundle === null ? 'no bundle' : shortDigest(bundle)}, which no release of ${formatChannel(channelOf(follower))} has`,
      'Notify only about objects that follow the channel that this follower was registered with',
    );
  // A post about Rancher Fleet has notifications about several objects, each of which is a report.
  const digest = notification.package ? digestOf(`${object} ${digestOf(body)}`) : digestOf(body);
  return await hub.store.transact(async (tx) => {
    const agent = await currentRow(tx, follower);
    const before = await knownObject(tx, agent, object);
    if (before?.digest === digest) return 'known';
    if (before && before.at > at) return 'older';
    if (await isStored(tx, agent, digest)) return 'known';
    if (!before) await checkCount(tx, agent);
    const state = word.kind === 'failed' ? `failed ${word.code}` : word.kind;
    await storeObject(tx, { agent: agent.id, life: agent.life, object, at, digest, bundle, state });
    const changed = before?.state !== state || before.bundle !== bundle;
    const about = { notification, word, found, isTree: inTree !== undefined };
    const said = changed ? await eventsOf(tx, agent, about) : [];
    const whole = inTree === undefined ? undefined : object;
    const release = found && bundle && (await acceptedRelease(tx, agent, { bundle, found, whole }));
    const events: NewEvent[] = [
      ...said,
      ...(release ? [{ type: 'imported', release: { ...channelOf(agent), version: release } }] : []),
    ];
    await storeEvents(tx, agent, events, { digest, at, now, object });
    return 'taken';
  });
};

/** @throws FleetError REVOKED if the follower was revoked or registered anew meanwhile */
const currentRow = async (tx: Tx, follower: AgentRow): Promise<AgentRow> => {
  const row = await tx.selectFrom('agent').selectAll().where('id', '=', follower.id).executeTakeFirst();
  if (row && row.revoked_at === null && row.life === follower.life) return row;
  throw new FleetError('REVOKED', `${follower.id} was revoked while its notification was read`);
};

const knownObject = (
  tx: Tx,
  { id, life }: AgentRow,
  object: string,
): Promise<FollowerObjectRow | undefined> =>
  tx
    .selectFrom('follower_object')
    .selectAll()
    .where('agent', '=', id)
    .where('life', '=', life)
    .where('object', '=', object)
    .executeTakeFirst();

/** Whether it came before, and another one of the same second since. */
const isStored = async (tx: Tx, { id, life }: AgentRow, digest: Digest): Promise<boolean> => {
  const report = await tx
    .selectFrom('report')
    .select('digest')
    .where('agent', '=', id)
    .where('life', '=', life)
    .where('digest', '=', digest)
    .executeTakeFirst();
  return report !== undefined;
};

/** @throws FleetError TOO_MANY */
const checkCount = async (tx: Tx, { id, life }: AgentRow): Promise<void> => {
  const { count } = await tx
    .selectFrom('follower_object')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('agent', '=', id)
    .where('life', '=', life)
    .executeTakeFirstOrThrow();
  if (count >= MAX_OBJECTS)
    throw new FleetError('TOO_MANY', `${id} has notified about ${MAX_OBJECTS} objects already`);
};

const storeObject = async (tx: Tx, row: FollowerObjectRow): Promise<void> => {
  const { agent: _agent, life: _life, object: _object, ...columns } = row;
  await tx
    .insertInto('follower_object')
    .values(row)
    .onConflict((conflict) => conflict.columns(['agent', 'life', 'object']).doUpdateSet(columns))
    .execute();
};

/**
 * The events of a word, as an agent would write them: a package step or drift of the object's assignment. The object that applies
 * a cluster's folder of a tree speaks for all assignments. A failure of another object, such as a source that cannot be fetched, is
 * `refused`.
 */
const eventsOf = async (
  tx: Tx,
  agent: AgentRow,
  {
    notification: { name, object },
    word,
    found,
    isTree,
  }: {
    readonly notification: Notification;
    readonly word: FollowerState;
    readonly found: FoundBundle | undefined;
    readonly isTree: boolean;
  },
): Promise<readonly NewEvent[]> => {
  const all = isSource(object) ? [] : [...(found?.assignments ?? [])];
  const targets = all.filter(([known]) => isTree || known === name);
  if (targets.length === 0)
    return word.kind === 'failed' ? [{ type: 'refused', code: word.code, message: word.message }] : [];
  const events: NewEvent[] = [];
  for (const [, target] of targets) events.push(await eventOf(tx, agent, word, target));
  return events;
};

const eventOf = async (
  tx: Tx,
  agent: AgentRow,
  word: FollowerState,
  target: { readonly id: string; readonly package: Digest },
): Promise<NewEvent> => {
  const about = { type: 'package', assignment: target.id, package: target.package };
  switch (word.kind) {
    case 'healthy':
      return { ...about, outcome: await outcomeOf(tx, agent, target) };
    case 'applied':
      return { ...about, outcome: await outcomeOf(tx, agent, target), code: 'HEALTH_UNKNOWN' };
    case 'failed':
      return { ...about, outcome: 'failed', code: word.code, message: word.message };
    case 'drifted':
      return { type: 'drift', assignment: target.id, message: word.message };
  }
};

const isSource = (object: string): boolean => /^(?:OCI|Git)Repository\//.test(object);

const outcomeOf = async (
  tx: Tx,
  { id }: AgentRow,
  target: { readonly id: string; readonly package: Digest },
): Promise<'created' | 'configured' | 'unchanged'> => {
  const state = await tx
    .selectFrom('assignment_state')
    .select('package')
    .where('agent', '=', id)
    .where('assignment', '=', target.id)
    .executeTakeFirst();
  if (!state || state.package === null) return 'created';
  return state.package === target.package ? 'unchanged' : 'configured';
};

/**
 * The newest release of the bundle that every assignment was reported for, at or after the time when it was issued; without
 * assignments, that any object was reported for. undefined: there is none, or it is known already.
 */
const acceptedRelease = async (
  tx: Tx,
  agent: AgentRow,
  {
    bundle,
    found: { releases, assignments },
    whole,
  }: {
    readonly bundle: Digest;
    readonly found: FoundBundle;
    /** The object that speaks for the whole bundle: of a cluster that follows a tree. */
    readonly whole: string | undefined;
  },
): Promise<number | undefined> => {
  const rows = await tx
    .selectFrom('follower_object')
    .select(['object', 'at'])
    .where('agent', '=', agent.id)
    .where('life', '=', agent.life)
    .where('bundle', '=', bundle)
    .execute();
  const times = new Map(
    rows.filter(({ object }) => !isSource(object)).map(({ object, at }) => [nameOf(object), at]),
  );
  const parts = assignments.size > 0 ? [...assignments.keys()] : [...times.keys()];
  const names = whole === undefined ? parts : [nameOf(whole)];
  const accepted = releases.find(
    ({ issuedAt }) => names.length > 0 && names.every((name) => (times.get(name) ?? '') >= issuedAt),
  );
  const known = agent.release_channel === formatChannel(channelOf(agent)) ? (agent.release_version ?? 0) : 0;
  return accepted && accepted.version > known ? accepted.version : undefined;
};

const nameOf = (object: string): string => object.slice(object.lastIndexOf('/') + 1);
