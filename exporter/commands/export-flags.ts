import { normalize, resolve } from 'node:path';
import { IS_WINDOWS } from '#bundles/is-windows';
import { Flags } from '@oclif/core';
import { defined } from '#bundles/defined';
import { FleetError } from '#bundles/errors';
import { parseChannel, parseName } from '#bundles/names';
import type { Progress } from '#cli/progress';
import { FORCE_PATH_FLAG, repeatable } from '#cli/flags';
import { wordList } from '#cli/word-list';
import { parseRecipient } from '#bundles/trust/age/recipient';
import type { ExportRequest } from '../plan/prepare.ts';
import { describePause } from './show/describe-pause.ts';
import { parseSize } from './show/parse-size.ts';

/** Flags that `create` and `plan` share. */
export const EXPORT_FLAGS = {
  from: Flags.string({
    required: true,
    description:
      'A registry, oci://host[:port]/prefix, or the layout directory that fleet-scheduler build wrote',
    env: 'FLEET_EXPORT_FROM',
  }),
  to: Flags.string({
    required: true,
    ...repeatable,
    description:
      'The medium: a folder (a mounted stick), or a file ending in .tar; repeatable for a set of parts, one place for each stick',
    env: 'FLEET_EXPORT_TO',
  }),
  ...FORCE_PATH_FLAG,
  channel: Flags.string({
    ...repeatable,
    description: "environment/cluster type [default: the channels that the sites' agents follow]",
  }),
  all: Flags.boolean({
    description: 'Every channel of the source; not with --channel or --site',
    exclusive: ['channel', 'site'],
  }),
  site: Flags.string({
    ...repeatable,
    description: 'Also carry the statement, values and receipts of this site',
  }),
  for: Flags.string({
    ...repeatable,
    description:
      'Leave out blobs that the site already has according to: a signed report, a medium that came back with reports, an ' +
      'earlier medium, site:<site> (the newest reports that the office imported), or release:<environment>/<cluster type>@<number>',
  }),
  'lease-only': Flags.boolean({
    description: 'Only the leases of the channels and the roots: a few kilobytes, for a stick or a mail',
    exclusive: ['for'],
  }),
  'values-only': Flags.boolean({
    description:
      'Only the statements, values and secrets of the sites, their leases, and the roots, for sites that have the releases: a few kilobytes',
    exclusive: ['for', 'lease-only'],
  }),
  'binary-deltas': Flags.boolean({
    description:
      'Carry patches for layers that the site already has (see --for) instead of new layers, where patches are smaller; takes longer',
    relationships: [{ type: 'all', flags: ['for'] }],
  }),
  encrypt: Flags.boolean({
    description: 'Encrypt every part with age to the agents of the sites on the medium',
  }),
  recipient: Flags.string({
    ...repeatable,
    description: 'With --encrypt: also encrypt to this age recipient, age1..., for example one of the office',
    dependsOn: ['encrypt'],
  }),
  'plain-http': Flags.string({
    ...repeatable,
    delimiter: ',',
    description: 'Registry, host[:port], that is reached without TLS',
    env: 'FLEET_EXPORT_PLAIN_HTTP',
  }),
  'ca-file': Flags.string({
    description: "PEM certificates to trust for registries, in addition to the system's",
    env: 'FLEET_EXPORT_CA_FILE',
  }),
  'auth-file': Flags.string({
    description:
      "Docker or podman auth file with the registry's credentials [default: the files that docker and podman write]",
    env: 'FLEET_EXPORT_AUTH_FILE',
  }),
};

export type ExportFlags = {
  readonly from: string;
  readonly to: string | readonly string[];
  readonly 'force-path'?: boolean;
  readonly channel?: readonly string[] | undefined;
  readonly site?: readonly string[] | undefined;
  readonly all?: boolean;
  readonly for?: readonly string[] | undefined;
  readonly 'lease-only'?: boolean;
  readonly 'values-only'?: boolean;
  readonly 'binary-deltas'?: boolean;
  readonly 'part-size'?: string | undefined;
  readonly 'stick-size'?: readonly string[] | undefined;
  readonly encrypt?: boolean;
  readonly recipient?: readonly string[] | undefined;
  readonly 'plain-http'?: readonly string[] | string | undefined;
  readonly 'ca-file'?: string | undefined;
  readonly 'auth-file'?: string | undefined;
};

/** @throws FleetError NAME_INVALID, USAGE, KEY_FORMAT */
export const exportRequestOf = (
  flags: ExportFlags,
  env: NodeJS.ProcessEnv,
  now: Date,
  signal: AbortSignal,
  progress?: Progress,
): ExportRequest => ({
  from: flags.from,
  access: {
    plainHttp: wordList(flags['plain-http'], ',') ?? [],
    caFile: flags['ca-file'],
    authFile: flags['auth-file'],
    env,
    signal,
    onWait: progress && ((pause) => progress.wait(describePause(flags.from, pause), pause.ms)),
  },
  // Folders are created below the existing path, and the system does not resolve '..' of a missing folder.
  to: normalize(mediumAt([flags.to].flat()[0] ?? '')),
  alsoTo: moreOf([flags.to].flat()),
  forcePath: flags['force-path'] ?? false,
  channels: flags.channel?.map(parseChannel),
  sites: (flags.site ?? []).map((site) => parseName(site, 'site')),
  bases: flags.for ?? [],
  leaseOnly: flags['lease-only'] ?? false,
  valuesOnly: flags['values-only'] ?? false,
  binaryDeltas: flags['binary-deltas'] ?? false,
  maxPatch: maxPatchOf(flags),
  ...defined({
    sealTo: flags.encrypt
      ? (flags.recipient ?? []).map((recipient) => parseRecipient(recipient, '--recipient'))
      : undefined,
  }),
  now,
  ...defined({ progress }),
  signal,
});

/** Half of the smallest part, because every part also holds documents. @throws FleetError USAGE */
const maxPatchOf = (flags: ExportFlags): number | undefined => {
  const sizes = [flags['part-size'] ?? [], flags['stick-size'] ?? []].flat().map(parseSize);
  return sizes.length === 0 ? undefined : Math.floor(Math.min(...sizes) / 2);
};

/** @throws FleetError USAGE */
const moreOf = (places: readonly string[]): readonly string[] => {
  const all = places.map((place) => normalize(mediumAt(place)).replace(/(?<=.)\/$/, ''));
  const folders = all.map((place) => (IS_WINDOWS ? resolve(place).toLowerCase() : resolve(place)));
  const twice = all[folders.findIndex((folder, at) => folders.indexOf(folder) !== at)];
  if (twice === undefined) return all.slice(1);
  throw new FleetError('USAGE', `--to names ${twice} twice`, { hint: 'Give one place for each stick' });
};

/** Refuses 'oci://...', which would create a folder of that name. @throws FleetError USAGE */
const mediumAt = (to: string): string => {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(to)) return to;
  throw new FleetError('USAGE', `--to is a folder or a file ending in .tar, not ${JSON.stringify(to)}`, {
    hint: 'Registries are filled by fleet-scheduler publish',
  });
};
