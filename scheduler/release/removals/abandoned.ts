import { FleetError } from '#bundles/errors';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import { findReference } from '#bundles/formats/layout/layout';
import { type Channel, formatChannel, parseChannel } from '#bundles/names';
import { channelsIn } from '#bundles/transport/publish/choose-pointers';
import { waitingReference } from '../../load/releases/references.ts';
import type { Releases } from '../write/open-releases.ts';
import { ABANDONED, readWaiting, writeReasons } from './waiting.ts';

/** An environment of a build, without a candidate if it was not built, and the channels that the platform has there. */
type Built = {
  readonly environment: string;
  readonly candidate?: string;
  readonly channels: readonly Pick<Channel, 'clusterType'>[];
};

/**
 * Notes in the layout, for `status`, channels that the platform no longer has: after a renaming their agents keep their release,
 * and no build renews it. Removes the note of a channel that exists again.
 * @param environments all environments of the platform
 * @returns CHANNEL_MISSING for each channel that had no such note
 */
export const noteAbandoned = async (
  releases: Releases,
  environments: readonly string[],
  built: readonly Built[],
): Promise<readonly FleetError[]> => {
  const layout = await releases.open();
  const references = new Map<string, Descriptor>();
  const gone: string[] = [];
  const found: FleetError[] = [];
  for (const channel of channelsIn(layout).map((name) => parseChannel(name))) {
    const why = whyAbandoned(channel, environments, built);
    if (why !== undefined) {
      const note = { code: ABANDONED, message: why, reasons: [why] };
      for (const [name, entry] of await writeReasons(layout, channel, note)) {
        references.set(name, entry);
        found.push(new FleetError(ABANDONED, `${formatChannel(channel)}: ${why}`));
      }
    } else if (
      findReference(layout, waitingReference(channel)) &&
      (await readWaiting(layout, channel)).some((line) => line.startsWith(ABANDONED))
    )
      gone.push(waitingReference(channel));
  }
  if (references.size > 0 || gone.length > 0) await releases.point(references, gone);
  return found;
};

const whyAbandoned = (
  { environment, clusterType }: Channel,
  environments: readonly string[],
  built: readonly Built[],
): string | undefined => {
  const next =
    'no build renews this release. Move its agents, if it has any: fleet-scheduler sites set <site> --agent <agent> --channel <environment>/<cluster type>';
  if (!environments.includes(environment)) return `the platform has no environment ${environment}; ${next}`;
  const here = built.find((one) => one.environment === environment && one.candidate !== undefined);
  return !here || here.channels.some((one) => one.clusterType === clusterType)
    ? undefined
    : `the platform has no cluster type ${clusterType} in ${environment}; ${next}`;
};
