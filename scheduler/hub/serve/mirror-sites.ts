import type { Logger } from 'pino';
import { type FleetError, toFleetError } from '#bundles/errors';
import type { Hub } from '../hub.ts';
import { layOutSites } from '../sites/write-site.ts';
import { parts } from '../store/parts.ts';
import { LOCK_WAIT_MS } from '../../release/write/wait-for-layout.ts';
import { faultFields } from '../watch/fault-fields.ts';
import type { Metrics } from '../http/metrics/metrics.ts';

/** Publishes the statements of these sites from the layout to the registry. @returns the errors of sites that failed, by name */
export type PublishSites = (
  sites: readonly string[],
  signal: AbortSignal,
) => Promise<ReadonlyMap<string, FleetError>>;

export type MirrorOptions = {
  readonly hub: Hub;
  /** undefined if no registry is configured. */
  readonly publish?: PublishSites | undefined;
  readonly clock: () => Date;
  readonly log: Logger;
  readonly metrics: Pick<Metrics, 'published'>;
  /** Maximum wait for another writer of the layout. Short, because a build is better retried in the next round. */
  readonly lockWaitMs?: number;
};

/** The newest statement of a site. */
type Statement = { readonly name: string; readonly version: number };

/**
 * Copies the newest statement of every site to the layout and the registry. The database keeps them, so failures (a build holds
 * the layout, the registry or the database is unreachable) are logged and retried at the next call. Completed statements are skipped.
 * @returns a function that resolves to the number of sites not yet published, and rejects if the database did not say which there are
 */
export const createMirror = (options: MirrorOptions) => {
  const { hub, log, metrics } = options;
  const done = new Map<string, number>();

  return async (signal: AbortSignal): Promise<number> => {
    const sites = await readStatements(hub);
    const due = sites.filter(({ name, version }) => done.get(name) !== version);
    const failures = new Map<string, FleetError>();
    for (const part of parts(due, AT_ONCE)) {
      if (signal.aborted) return due.length;
      for (const [name, failure] of await layOut(part, options, signal)) failures.set(name, failure);
    }
    if (signal.aborted) return due.length;
    const laidOut = due.filter(({ name }) => !failures.has(name));
    for (const [name, failure] of await publishAll(laidOut, options, signal)) failures.set(name, failure);
    if (signal.aborted) return due.length;
    for (const { name, version } of due) {
      metrics.published.inc({ result: failures.has(name) ? 'failed' : 'done' });
      if (failures.has(name)) continue;
      done.set(name, version);
      log.info({ site: name, version }, 'site published');
    }
    logFailures(failures, log);
    return failures.size;
  };
};

const readStatements = ({ store }: Hub): Promise<readonly Statement[]> =>
  store.db.selectFrom('site').select(['name', 'version']).orderBy('name').execute();

/** One line for all sites with the same error: while a build holds the layout, that is every site. */
const logFailures = (failures: ReadonlyMap<string, FleetError>, log: Logger): void => {
  for (const [failure, of] of Map.groupBy(failures, ([, failure]) => failure)) {
    const [[site] = []] = of;
    const which = of.length === 1 ? { site } : { sites: of.length };
    log.warn({ ...which, ...faultFields(failure) }, 'sites not published yet');
  }
};

/** Sites that are laid out under one lock, with one write of the index: others who need the layout come in between. */
const AT_ONCE = 1000;

/** @returns the errors of sites that are not in the layout, by name */
const layOut = async (
  sites: readonly Statement[],
  { hub, clock, lockWaitMs: waitMs = LOCK_WAIT_MS }: MirrorOptions,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, FleetError>> => {
  try {
    return (await layOutSites(hub, sites, { now: clock(), command: 'serve', waitMs, signal })).failures;
  } catch (error) {
    const failure = toFleetError(error, 'laying out sites');
    return new Map(sites.map(({ name }) => [name, failure]));
  }
};

const publishAll = async (
  sites: readonly Statement[],
  { publish }: MirrorOptions,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, FleetError>> => {
  if (!publish || sites.length === 0) return new Map();
  const names = sites.map(({ name }) => name);
  try {
    return await publish(names, signal);
  } catch (error) {
    const failure = toFleetError(error, 'publishing sites');
    return new Map(names.map((name) => [name, failure]));
  }
};
