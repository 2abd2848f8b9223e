import { normalize } from 'node:path';
import { Flags } from '@oclif/core';
import { parseChannel, parseName } from '#bundles/names';
import type { Order } from '../prepare.ts';

/** What `create` and `plan` are asked alike. */
export const ORDER_FLAGS = {
  from: Flags.string({
    required: true,
    description: 'The layout directory that fleet-scheduler build wrote',
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
};

export type OrderFlags = {
  readonly from: string;
  readonly to: string;
  readonly channel?: readonly string[] | undefined;
  readonly site?: readonly string[] | undefined;
  readonly for?: readonly string[] | undefined;
};

/** @throws FleetError NAME_INVALID */
export const orderOf = (flags: OrderFlags, now: Date, signal: AbortSignal): Order => ({
  from: flags.from,
  // A folder is made below what is there, and the system finds no '..' of one that is not.
  to: normalize(flags.to),
  channels: flags.channel?.map(parseChannel),
  sites: (flags.site ?? []).map((site) => parseName(site, 'site')),
  bases: flags.for ?? [],
  now,
  signal,
});
