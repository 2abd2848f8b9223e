import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { defined } from '#bundles/defined';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import { isFleetError, toFleetError } from '#bundles/errors';
import { type Channel, formatChannel, parseChannel } from '#bundles/names';
import { channelsIn } from '#bundles/transport/publish/choose-pointers';
import { type Configuration, requireSetting } from '../../settings/configuration.ts';
import { stepRollout } from '../promote/rollout/step-rollout.ts';
import { shortestFreshness } from '../sites/shortest-freshness.ts';
import type { Store } from '../store/open-store.ts';
import { hasLease, renewLease } from '../../release/lease/renew-lease.ts';
import { openReleases, type Releases } from '../../release/write/open-releases.ts';
import { readPrevious } from '../../release/write/read-previous.ts';
import { renewRelease } from '../../release/reissue/renew-release.ts';
import { type KeyDirectory, openKeyDirectory } from '../../keys/key-directory.ts';
import { faultFields } from '../watch/fault-fields.ts';

export type KeepOptions = {
  readonly configuration: Configuration;
  readonly store: Store;
  readonly clock: () => Date;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** undefined if no registry is configured: renewed releases and leases then reach sites by medium. */
  readonly publish: PublishChannels | undefined;
};

/** Publishes the pointers of these channels. Rejects with the first FleetError of a channel that failed. */
export type PublishChannels = (channels: readonly Channel[], signal: AbortSignal) => Promise<void>;

/**
 * Keeps published releases valid without a build. Each call of the returned function advances rollouts (stepRollout), renews
 * releases that are due (renewRelease), and leases of channels that have one or whose agents require one. Failures are logged and retried in the next
 * round. Never throws.
 */
export const createKeepCurrent = ({ configuration, store, clock, log, publish }: KeepOptions) => {
  /** Channels renewed and not yet published. */
  const waiting = new Map<string, Channel>();
  const tell = (name: string, error: unknown, what: string): void => {
    const known = toFleetError(error, `keeping ${name} current`);
    log.error({ channel: name, ...faultFields(known) }, what);
  };
  const renew = async (signal: AbortSignal): Promise<void> => {
    const directory = requireSetting(configuration, 'layout');
    if (!existsSync(join(directory, 'oci-layout'))) return;
    // Read in every round: officers may install a new root while the hub runs.
    const keys = await openKeyDirectory(requireSetting(configuration, 'keys'));
    const now = clock();
    const freshness = await shortestFreshness(store.db);
    using releases = await openReleases(directory, { command: 'serve', now });
    const channels = channelsIn(await releases.open()).map((name) => parseChannel(name));
    const each = async (what: string, work: (channel: Channel) => Promise<Renewal>): Promise<void> => {
      const references = new Map<string, Descriptor>();
      for (const channel of channels) {
        signal.throwIfAborted();
        const name = formatChannel(channel);
        try {
          const renewed = await work(channel);
          if (!renewed) continue;
          for (const [reference, descriptor] of renewed.references) references.set(reference, descriptor);
          if (renewed.references.size > 0) waiting.set(name, channel);
          log.info({ channel: name, ...renewed.told }, what);
        } catch (error) {
          tell(name, error, `${what}: failed`);
        }
      }
      if (references.size > 0) await releases.point(references);
    };
    await each('rollout', async (channel) => {
      const stepped = await stepRollout({ store, layout: directory }, keys, releases, channel, now);
      if (!stepped) return undefined;
      const { decided, carried } = stepped;
      const references = carried?.references ?? new Map<string, Descriptor>();
      const release = carried && { [carried.what]: carried.version };
      return { references, told: { ...defined({ decision: decided }), ...release } };
    });
    await each('release renewed', (channel) => release(releases, keys, channel, now));
    await each('lease renewed', (channel) =>
      lease(releases, keys, channel, now, freshness.get(formatChannel(channel))),
    );
  };
  return async (signal: AbortSignal): Promise<void> => {
    try {
      await renew(signal);
    } catch (error) {
      if (signal.aborted) return;
      // A build holds the lock for its whole duration and renews releases itself.
      if (isFleetError(error, 'BUSY')) log.info({ why: error.message }, 'not renewed in this round');
      else tell('what is released', error, 'not renewed');
    }
    if (!publish || waiting.size === 0 || signal.aborted) return;
    try {
      await publish([...waiting.values()], signal);
      waiting.clear();
    } catch (error) {
      if (!signal.aborted) tell('what was renewed', error, 'not published');
    }
  };
};

/** undefined: there was nothing to do. A decision of a rollout that needs no new release has no references. */
type Renewal = { readonly references: ReadonlyMap<string, Descriptor>; readonly told: object } | undefined;

const release = async (
  releases: Releases,
  keys: KeyDirectory,
  channel: Channel,
  now: Date,
): Promise<Renewal> => {
  const layout = await releases.open();
  const previous = await readPrevious(layout, channel, keys.roots, now);
  if (!previous) return undefined;
  const { references, version, expires, due } = await renewRelease(layout, keys, { channel, previous, now });
  return references.size === 0 ? undefined : { references, told: { release: version, expires, due } };
};

const lease = async (
  releases: Releases,
  keys: KeyDirectory,
  channel: Channel,
  now: Date,
  freshness: number | undefined,
): Promise<Renewal> => {
  const layout = await releases.open();
  if (freshness === undefined && !hasLease(layout, channel)) return undefined;
  const current = await readPrevious(layout, channel, keys.roots, now);
  if (!current) return undefined;
  const { references, predicate } = await renewLease(layout, keys, {
    channel,
    release: current,
    now,
    freshness,
  });
  if (references.size === 0) return undefined;
  return { references, told: { lease: predicate.version, expires: predicate.expires } };
};
