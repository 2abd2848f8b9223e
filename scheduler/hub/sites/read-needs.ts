import type { BundleConfig } from '#bundles/formats/bundle/config';
import { openOrStartLayout } from '#bundles/formats/layout/layout';
import { type Channel, formatChannel } from '#bundles/names';
import { readReleaseConfigs } from '../../load/releases/read-release-configs.ts';
import type { Hub } from '../hub.ts';

type Properties = Readonly<Record<string, BundleConfig['siteInputs']['schema']>>;

/** By formatChannel; undefined for a channel without a release. */
export type KnownNeeds = Map<string, Needs | undefined>;

/** The site inputs of a channel's newest release, and the bundles that ask for them. */
export type Needs = {
  readonly release: string;
  readonly inputs: Properties;
  readonly configs: readonly BundleConfig[];
};

/** Reads the site inputs of the newest releases of channels into `needs`. @returns the same map */
export const readNeeds = async (
  { keys, layout: directory }: Pick<Hub, 'keys' | 'layout'>,
  channels: readonly Channel[],
  needs: KnownNeeds,
): Promise<KnownNeeds> => {
  if (channels.every((channel) => needs.has(formatChannel(channel)))) return needs;
  const layout = await openOrStartLayout(directory);
  for (const channel of channels) {
    const name = formatChannel(channel);
    if (needs.has(name)) continue;
    const found = await readReleaseConfigs(layout, channel, keys.roots);
    const inputs: Record<string, Properties[string]> = {};
    for (const config of found?.configs ?? []) Object.assign(inputs, config.siteInputs.schema['properties']);
    needs.set(
      name,
      found && {
        release: `release ${found.release.predicate.version} of ${name}`,
        inputs,
        configs: found.configs,
      },
    );
  }
  return needs;
};
