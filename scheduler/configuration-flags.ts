import { Flags } from '@oclif/core';

/** Flags that every command of the scheduler may take; the file fleet-scheduler.yaml may give them all. */
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
  db: Flags.string({ description: "The hub's database, a SQLite file", env: 'FLEET_DB' }),
  cache: Flags.string({ description: 'Directory for what can be fetched again', env: 'FLEET_CACHE' }),
  map: Flags.string({
    description: 'Take this directory for that repository: <url>[#branch]=<directory>',
    multiple: true,
    multipleNonGreedy: true,
  }),
};

const { config, keys, layout, db } = configurationFlags;

/** What the hub's commands need. */
export const hubFlags = { config, keys, layout, db };
