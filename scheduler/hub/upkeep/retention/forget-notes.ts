import { isFleetError } from '#bundles/errors';
import { formatTime } from '#bundles/time';
import type { Hub } from '../../hub.ts';
import { openReleases } from '../../questions/history/read-releases.ts';
import { forgetRollouts } from './forget-rollouts.ts';
import { forgetSiteValues } from './forget-site-values.ts';
import { parts } from '../../store/parts.ts';
import type { Tx } from '../../store/tables.ts';

/** Removed rows that are for display, or that a gate writes again when it needs them. */
export type Forgotten = {
  /** Notes of media that left or came back. */
  readonly media: number;
  /** Answers of external checks about earlier candidates. */
  readonly checks: number;
  /** Support bundles, and requests that are over. */
  readonly support: number;
  /** Names of packages that neither a release since, nor an agent, nor the history has. */
  readonly versions: number;
  /** Rollouts of values that are over. */
  readonly rollouts: number;
  /** Documents of the values of sites, proposals that were decided, and answered local values. */
  readonly values: number;
};

/** Removes notes from before `cutoff`. @throws FleetError BUSY, DISK_FULL, DATABASE_UNREACHABLE */
export const forgetNotes = async (
  hub: Pick<Hub, 'store' | 'layout' | 'keys'>,
  cutoff: Date,
): Promise<Forgotten> => {
  const before = formatTime(cutoff);
  const released = await releasedSince(hub, before);
  const documents = await forgetSiteValues(hub.store, before);
  return await hub.store.transact(async (tx) => ({
    media: await forgetMedia(tx, before),
    checks: await forgetChecks(tx, before),
    support: await forgetSupport(tx, before),
    rollouts: await forgetRollouts(tx, before),
    values: documents + (await forgetDecided(tx, before)),
    versions: released ? await forgetVersions(tx, released) : 0,
  }));
};

/**
 * Proposals that were decided, which the audit log has, and local values that are over. The newest answered one of each value of an agent stays: a later edit
 * is compared with it.
 */
const forgetDecided = async (tx: Tx, before: string): Promise<number> => {
  const proposals = await tx
    .deleteFrom('values_proposal')
    .where('state', '<>', 'waiting')
    .where('ended_at', '<', before)
    .executeTakeFirstOrThrow();
  const edits = await tx
    .deleteFrom('local_edit')
    .where('state', '<>', 'waiting')
    .where('received_at', '<', before)
    .where(({ exists, or, eb, selectFrom }) =>
      or([
        eb('state', 'not in', ['accepted', 'refused']),
        exists(
          selectFrom('local_edit as later')
            .select('later.seq')
            .whereRef('later.agent', '=', 'local_edit.agent')
            .whereRef('later.life', '=', 'local_edit.life')
            .whereRef('later.name', '=', 'local_edit.name')
            .whereRef('later.seq', '>', 'local_edit.seq')
            .where('later.state', 'in', ['accepted', 'refused'])
            .where('later.confirmed', '=', 1),
        ),
      ]),
    )
    .executeTakeFirstOrThrow();
  return Number(proposals.numDeletedRows) + Number(edits.numDeletedRows);
};

const forgetMedia = async (tx: Tx, before: string): Promise<number> => {
  const returned = await tx
    .deleteFrom('medium_return')
    .where('received_at', '<', before)
    .executeTakeFirstOrThrow();
  const departed = await tx
    .deleteFrom('medium_departure')
    .where('recorded_at', '<', before)
    .executeTakeFirstOrThrow();
  await tx
    .deleteFrom('medium_volume')
    .where('filling', 'not in', tx.selectFrom('medium_departure').select('filling'))
    .execute();
  return Number(returned.numDeletedRows) + Number(departed.numDeletedRows);
};

const forgetSupport = async (tx: Tx, before: string): Promise<number> => {
  const bundles = await tx
    .deleteFrom('support_bundle')
    .where('received_at', '<', before)
    .executeTakeFirstOrThrow();
  const requests = await tx
    .deleteFrom('support_request')
    .where('until_at', '<', before)
    .executeTakeFirstOrThrow();
  return Number(bundles.numDeletedRows) + Number(requests.numDeletedRows);
};

/** The answers about the candidate that an environment's checks were asked about last stay. */
const forgetChecks = async (tx: Tx, before: string): Promise<number> => {
  const { numDeletedRows } = await tx
    .deleteFrom('gate_check')
    .where('at', '<', before)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('gate_check as later')
          .select('later.id')
          .whereRef('later.environment', '=', 'gate_check.environment')
          .whereRef('later.shared', '<>', 'gate_check.shared')
          .whereRef('later.at', '>', 'gate_check.at'),
      ),
    )
    .executeTakeFirstOrThrow();
  return Number(numDeletedRows);
};

/** Packages of current releases and those since; undefined: a channel cannot be read. */
const releasedSince = async (
  hub: Pick<Hub, 'layout' | 'keys'>,
  before: string,
): Promise<ReadonlySet<string> | undefined> => {
  const packages = new Set<string>();
  try {
    const releases = await openReleases(hub);
    for (const channel of releases.channels())
      for (const release of await releases.of(channel))
        if (release.current || release.issuedAt >= before)
          for (const released of release.packages.values()) packages.add(released.package);
  } catch (error) {
    if (isFleetError(error)) return undefined;
    throw error;
  }
  return packages;
};

const forgetVersions = async (tx: Tx, released: ReadonlySet<string>): Promise<number> => {
  const known = await tx.selectFrom('package_version').select('package').distinct().execute();
  const running = await tx.selectFrom('assignment_state').select('package').distinct().execute();
  const reported = await tx
    .selectFrom('history')
    .select('value')
    .distinct()
    .where('field', '=', 'package')
    .execute();
  const needed = new Set<string | null>([
    ...released,
    ...running.map((row) => row.package),
    ...reported.map(({ value }) => value),
  ]);
  const gone = known.map((row) => row.package).filter((digest) => !needed.has(digest));
  let removed = 0;
  for (const part of parts(gone)) {
    const { numDeletedRows } = await tx
      .deleteFrom('package_version')
      .where('package', 'in', part)
      .executeTakeFirstOrThrow();
    removed += Number(numDeletedRows);
  }
  return removed;
};
