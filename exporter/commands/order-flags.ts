import { normalize } from 'node:path';
import { Flags } from '@oclif/core';
import { FleetError } from '#bundles/errors';
import { parseChannel, parseName } from '#bundles/names';
import { wordList } from '#bundles/program/word-list';
import type { Order } from '../prepare.ts';

/** What `create` and `plan` are asked alike. */
export const ORDER_FLAGS = {
  from: Flags.string({
    required: true,
    description:
      'A registry, oci://host[:port]/prefix, or the layout directory that fleet-scheduler build wrote',
    env: 'FLEET_EXPORT_FROM',
  }),
  to: Flags.string({
    required: true,
    description: 'The medium: a folder (a mounted stick), or a file ending in .tar',
    env: 'FLEET_EXPORT_TO',
  }),
  channel: Flags.string({
    multiple: true,
    multipleNonGreedy: true,
    description: "environment/cluster type; without it those of the sites' agents, without a site all",
  }),
  site: Flags.string({
    multiple: true,
    multipleNonGreedy: true,
    description: 'Also carry the order, the values and the receipts for this site',
  }),
  for: Flags.string({
    multiple: true,
    multipleNonGreedy: true,
    description:
      'Leave out what these have: a signed report, a medium that came back with reports, or an earlier medium',
  }),
  'plain-http': Flags.string({
    multiple: true,
    multipleNonGreedy: true,
    delimiter: ',',
    description: 'Registry, host[:port], that may be spoken to without TLS',
    env: 'FLEET_EXPORT_PLAIN_HTTP',
  }),
  'ca-file': Flags.string({
    description: "PEM certificates that registries are trusted by, beside the system's",
    env: 'FLEET_EXPORT_CA_FILE',
  }),
  'auth-file': Flags.string({
    description: "Docker or podman auth file with the registry's credentials [default: the usual places]",
    env: 'FLEET_EXPORT_AUTH_FILE',
  }),
};

export type OrderFlags = {
  readonly from: string;
  readonly to: string;
  readonly channel?: readonly string[] | undefined;
  readonly site?: readonly string[] | undefined;
  readonly for?: readonly string[] | undefined;
  readonly 'plain-http'?: readonly string[] | string | undefined;
  readonly 'ca-file'?: string | undefined;
  readonly 'auth-file'?: string | undefined;
};

/** @throws FleetError NAME_INVALID, USAGE */
export const orderOf = (
  flags: OrderFlags,
  env: NodeJS.ProcessEnv,
  now: Date,
  signal: AbortSignal,
): Order => ({
  from: flags.from,
  access: {
    plainHttp: wordList(flags['plain-http'], ',') ?? [],
    caFile: flags['ca-file'],
    authFile: flags['auth-file'],
    env,
  },
  // A folder is made below what is there, and the system finds no '..' of one that is not.
  to: normalize(mediumAt(flags.to)),
  channels: flags.channel?.map(parseChannel),
  sites: (flags.site ?? []).map((site) => parseName(site, 'site')),
  bases: flags.for ?? [],
  now,
  signal,
});

/** 'oci://...' would make a folder of that name here. */
const mediumAt = (to: string): string => {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(to)) return to;
  throw new FleetError('USAGE', `--to is a folder or a file ending in .tar, not ${JSON.stringify(to)}`, {
    hint: 'Registries are filled by fleet-scheduler publish',
  });
};
