import { Flags } from '@oclif/core';
import { repeatable } from '#cli/flags';

/** Flags that every command of the scheduler accepts; fleet-scheduler.yaml may set each of them except --config. */
export const configurationFlags = {
  config: Flags.string({ description: 'Configuration file [default: fleet-scheduler.yaml, if it is there]' }),
  platform: Flags.string({
    description: 'Platform repository: a directory or <git URL>[#ref]',
    env: 'FLEET_PLATFORM',
  }),
  keys: Flags.string({ description: 'Directory with the roots and the keys that sign', env: 'FLEET_KEYS' }),
  layout: Flags.string({
    description: 'OCI layout directory with the releases and site statements',
    env: 'FLEET_LAYOUT',
  }),
  db: Flags.string({
    description: "The hub's database: a SQLite file or postgres://[user@]host[:port]/database",
    env: 'FLEET_DB',
  }),
  images: Flags.string({
    description: 'OCI layout that holds the images the manifests name',
    env: 'FLEET_IMAGES',
  }),
  registry: Flags.string({
    description: 'Where releases are published to: oci://host[:port][/prefix]',
    env: 'FLEET_REGISTRY',
  }),
  'plain-http': Flags.string({
    description: 'Registry, host[:port], that may be spoken to without TLS',
    env: 'FLEET_PLAIN_HTTP',
    ...repeatable,
    delimiter: ',',
  }),
  'ca-file': Flags.string({
    description: "PEM certificates that the registry is trusted by, beside the system's",
    env: 'FLEET_CA_FILE',
  }),
  'auth-file': Flags.string({
    description: "Docker or podman auth file with the registry's credentials [default: the usual places]",
    env: 'FLEET_AUTH_FILE',
  }),
  cache: Flags.string({ description: 'Directory for downloads that can be repeated', env: 'FLEET_CACHE' }),
  map: Flags.string({
    description:
      'Take this directory, or another repository or ref, for that repository: <url>[#branch]=<directory or url#ref>',
    ...repeatable,
  }),
};

const { config, platform, cache, map, keys, layout, db } = configurationFlags;

/** Flags of commands that read a platform, in either form. */
export const platformFlags = {
  config,
  platform,
  cache,
  map,
  fleet: Flags.string({ description: "Fleet name, for Kalypso's form" }),
};

/** --environment, -e, repeatable. */
export const environmentFlag = (description: string) =>
  Flags.string({ char: 'e', ...repeatable, description });

export const allowRemovalsFlag = Flags.string({
  description:
    'Packages that a release may remove although their Workload or policy was not deleted: names, or a number for each channel',
  env: 'FLEET_ALLOW_REMOVALS',
  ...repeatable,
  delimiter: ',',
});

/** Flags of commands that use the hub's database. */
export const hubFlags = { config, keys, layout, db };

/** Selects published channels. */
export const selectionFlags = {
  channel: Flags.string({
    ...repeatable,
    description: 'Only this channel, environment/cluster type',
  }),
  environment: environmentFlag('Only the channels of this environment'),
};

/** Flags of commands that access a registry. */
export const registryFlags = {
  config,
  'plain-http': configurationFlags['plain-http'],
  'ca-file': configurationFlags['ca-file'],
  'auth-file': configurationFlags['auth-file'],
};
