import type { Logger } from 'pino';
import { type FleetError, toFleetError } from '#bundles/errors';
import { type Hub, publishSite } from '../hub/hub.ts';
import { LOCK_WAIT_MS } from '../publish/wait-for-layout.ts';
import { faultFields } from '../watch/fault-fields.ts';
import type { Metrics } from './metrics.ts';

/** Brings what the layout has of these sites into the registry. @returns why not, for those that it kept back */
export type PublishSites = (
  sites: readonly string[],
  signal: AbortSignal,
) => Promise<ReadonlyMap<string, FleetError>>;

export type MirrorOptions = {
  readonly hub: Hub;
  /** Absent where no registry is configured. */
  readonly publish?: PublishSites | undefined;
  readonly clock: () => Date;
  readonly log: Logger;
  readonly metrics: Pick<Metrics, 'published'>;
  /** How long another writer of the layout is waited for; for one that builds it is better to come back. */
  readonly lockWaitMs?: number;
};

/** A statement that a site has. */
type Statement = { readonly name: string; readonly version: number };

/**
 * Brings the newest statement of every site into the layout and the registry. The database has them for good, so what did
 * not work (a build has the layout, the registry is away) is done at the next call; what is done is not done again.
 * @returns a function whose calls each return how many sites still wait
 */
export const createMirror = (options: MirrorOptions) => {
  const { hub, log, metrics } = options;
  const done = new Map<string, number>();

  return async (signal: AbortSignal): Promise<number> => {
    const sites = await hub.store.db.selectFrom('site').select(['name', 'version']).orderBy('name').execute();
    const due = sites.filter(({ name, version }) => done.get(name) !== version);
    const failures = new Map<string, FleetError>();
    for (const { name } of due) {
      if (signal.aborted) return due.length;
      const failure = await layOut(name, options);
      if (failure) failures.set(name, failure);
    }
    const laidOut = due.filter(({ name }) => !failures.has(name));
    for (const [name, failure] of await publishAll(laidOut, options, signal)) failures.set(name, failure);
    if (signal.aborted) return due.length;
    for (const { name, version } of due) {
      const failure = failures.get(name);
      metrics.published.inc({ result: failure ? 'failed' : 'done' });
      if (failure) {
        log.warn({ site: name, version, ...faultFields(failure) }, 'site not published yet');
      } else {
        done.set(name, version);
        log.info({ site: name, version }, 'site published');
      }
    }
    return failures.size;
  };
};

const layOut = async (
  name: string,
  { hub, clock, lockWaitMs: waitMs = LOCK_WAIT_MS }: MirrorOptions,
): Promise<FleetError | undefined> => {
  try {
    const site = await hub.store.db
      .selectFrom('site')
      .selectAll()
      .where('name', '=', name)
      .executeTakeFirstOrThrow();
    await publishSite(hub, site, { now: clock(), command: 'serve', waitMs });
    return undefined;
  } catch (error) {
    return toFleetError(error, `laying out site ${name}`);
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
