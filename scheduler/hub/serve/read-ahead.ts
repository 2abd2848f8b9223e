import { setTimeout as sleep } from 'node:timers/promises';
import { isFleetError } from '#bundles/errors';
import { openOrStartLayout } from '#bundles/formats/layout/layout';
import type { Channel } from '#bundles/names';
import type { Hub } from '../hub.ts';
import { channelFacts, readChannels } from '../promote/facts/read-channels.ts';
import { openReleases, type Releases } from '../questions/history/read-releases.ts';
import { readDesired } from '../questions/state/read-desired.ts';

/** How long a hub with very many releases waits for them before it listens. It reads on meanwhile. */
const MAX_WAIT_MS = 5_000;

/**
 * Reads and verifies the releases in the layout, and names the packages of the current ones, so that the first question after a start does
 * not wait for them. A release that cannot be read is reported by the questions about it.
 */
export const readAhead = async (hub: Pick<Hub, 'keys' | 'layout'>): Promise<void> => {
  const waiting = new AbortController();
  const late = sleep(MAX_WAIT_MS, undefined, { signal: waiting.signal, ref: false }).catch(() => {});
  await Promise.race([readAll(hub), late]);
  waiting.abort();
};

const readAll = async (hub: Pick<Hub, 'keys' | 'layout'>): Promise<void> => {
  const releases = await orUndefined(openReleases(hub));
  for (const channel of releases?.channels() ?? []) {
    await readDesired(hub.layout, [channel], hub.keys.root);
    await orUndefined(releases?.of(channel));
  }
  const environments = new Set(releases?.channels().map(({ environment }) => environment));
  for (const environment of environments) await orUndefined(readCandidates(hub, environment));
  // After all releases, since more questions need those.
  for (const channel of releases?.channels() ?? [])
    await orUndefined(releases && nameCurrent(releases, channel));
};

/** Reads the candidates that an environment has released, as a gate does. */
const readCandidates = async (
  { keys: { roots }, layout: directory }: Pick<Hub, 'keys' | 'layout'>,
  environment: string,
): Promise<void> => {
  const layout = await openOrStartLayout(directory);
  const channels = await readChannels(layout, roots, environment);
  for (const shared of new Set(channels.flatMap(({ lineage }) => lineage?.shared ?? [])))
    await channelFacts(layout, roots, channels, { shared, followed: [] });
};

/** Unpacks each bundle of the current release once: the versions of its packages are read together. */
const nameCurrent = async (releases: Releases, channel: Channel): Promise<void> => {
  const current = (await releases.of(channel)).find((release) => release.current);
  const ofBundles = new Map(
    [...(current?.packages ?? [])].map(([name, one]) => [one.bundle, [name, one] as const]),
  );
  for (const [name, released] of ofBundles.values())
    await releases.versionOf(channel, name, released.package);
};

const orUndefined = async <T>(read: Promise<T> | undefined): Promise<T | undefined> => {
  try {
    return await read;
  } catch (error) {
    if (isFleetError(error)) return undefined;
    throw error;
  }
};
