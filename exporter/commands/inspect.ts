import { shortDigest } from '#bundles/digest';
import { isFleetError, plainLine } from '#bundles/errors';
import { formatCount } from '#bundles/format-count';
import { nameSome } from '#bundles/name-some';
import { FleetCommand } from '#cli/fleet-command';
import { formatBytes } from '#cli/format-bytes';
import type { Printed } from '#cli/format-table';
import {
  type Contents,
  type Inspection,
  inspectMedium,
  type PartsSeen,
} from '../verify/inspect/inspect-medium.ts';
import { inspectSealed } from '../verify/inspect/inspect-sealed.ts';
import { openForInspection } from '../verify/inspect/open-for-inspection.ts';
import { tableOf } from './show/table-of.ts';
import { IDENTITY_FLAG, MEDIUM_ARG, type OpenFlags, openOptions } from './open-given.ts';

export default class Inspect extends FleetCommand {
  static override summary = 'List the content of a medium, without verifying it';
  static override examples = [
    '<%= config.bin %> inspect /media/stick',
    '<%= config.bin %> inspect /media/stick --identity site.key',
  ];
  static override strict = false;
  static override args = MEDIUM_ARG;
  static override flags = IDENTITY_FLAG;

  async run(): Promise<Inspection> {
    const { argv, flags } = await this.parse(Inspect);
    const found = await lookAt(argv as string[], flags, this.signal);
    this.print(formatInspection(found));
    return found;
  }
}

/** Without an identity, shows the readable parts of a sealed medium: its volumes and plain files. */
const lookAt = async (
  media: readonly string[],
  flags: OpenFlags,
  signal: AbortSignal,
): Promise<Inspection> => {
  try {
    await using medium = await openForInspection(media, {
      ...(await openOptions(flags.identity ?? [])),
      signal,
    });
    return await inspectMedium(medium);
  } catch (error) {
    if (isFleetError(error, 'MEDIUM_SEALED')) return inspectSealed(media);
    throw error;
  }
};

const formatInspection = ({
  path,
  form,
  filled,
  parts,
  reports,
  requests,
}: Inspection): readonly Printed[] => [
  ...(parts ? formatParts(path, parts) : []),
  ...(filled ? formatContents(path, form, filled) : []),
  ...(!filled && !parts ? [plainLine(`${path} (${form}): not filled yet`)] : []),
  `Reports: ${reports.length} files. Requests: ${requests.length}${requests.length > 0 ? `: ${plainLine(nameSome(requests))}` : '.'}`,
  'Nothing here was verified; use fleet-export verify.',
];

const formatParts = (
  path: string,
  { set, count, sealed, here, missing, damaged }: PartsSeen,
): readonly Printed[] => [
  `${plainLine(path)}: ${here.length} of ${count ?? 'an unknown number of'} parts of set ${set?.replace('sha256:', '').slice(0, 16) ?? 'unknown'}${
    sealed ? ', sealed' : ''
  }${missing.length > 0 ? `; not here: ${nameSome(missing.map(String))}` : ''}`,
  '',
  {
    head: ['PART', 'SIZE', 'DIGEST', 'FILE'],
    rows: here.map(({ number, size, digest, path: file }) => [
      String(number ?? '?'),
      formatBytes(size),
      digest ? shortDigest(digest) : '?',
      file,
    ]),
  },
  ...damaged.map(({ number, message }) => plainLine(`Part ${number} cannot be read: ${message}`)),
  '',
];

const toRow = ({ channel, version, issuedAt, expires, signers }: Contents['releases'][number]) => [
  channel,
  String(version ?? '?'),
  issuedAt ?? '?',
  expires ?? '?',
  signers.join(' '),
];

const formatContents = (path: string, form: string, it: Contents): readonly Printed[] => [
  `${plainLine(path)} (${form}): fleet ${it.fleet}, made ${it.createdAt}, ${it.blobs} blobs, ${formatBytes(it.bytes)}${
    it.chunked > 0 ? `, ${it.chunked} of them in pieces` : ''
  }${it.patched > 0 ? `, and patches for ${it.patched} more` : ''}`,
  `Roots: ${it.roots.join(', ')}. Sites: ${it.sites.map(({ site, version }) => `${site} (${version})`).join(', ') || 'none'}. Receipts: ${it.receipts}.`,
  '',
  ...tableOf(['CHANNEL', 'RELEASE', 'ISSUED', 'EXPIRES', 'SIGNED BY'], it.releases.map(toRow)),
  ...tableOf(['CHANNEL', 'LEASE', 'ISSUED', 'EXPIRES', 'SIGNED BY'], it.leases.map(toRow)),
  ...tableOf(
    ['CHANNEL', 'KIND', 'BUNDLE', 'ASSUMED', 'BASE'],
    it.bundles.map(({ channel, kind, digest, assumedBlobs, assumedBytes, base }) => [
      channel,
      kind,
      shortDigest(digest),
      assumedBlobs === 0 ? 'nothing' : `${formatCount(assumedBlobs, 'blob')}, ${formatBytes(assumedBytes)}`,
      base.map(shortDigest).join(' ') || '-',
    ]),
  ),
  ...tableOf(
    ['SITE', 'SECRET SET', 'SEALED', 'SIZE'],
    it.secrets.map(({ site, name, digest, bytes }) => [
      site,
      name ?? 'not named by a statement here',
      shortDigest(digest),
      bytes === undefined ? 'not on this medium' : formatBytes(bytes),
    ]),
  ),
  ...withSpace(
    it.bundles.flatMap(({ channel, kind, built }) =>
      built
        ? [
            plainLine(
              `${channel} ${kind}: built ${built.builtAt} by ${built.builder} from candidate ${built.candidate}`,
            ),
          ]
        : [],
    ),
  ),
];

const withSpace = (lines: readonly string[]): readonly string[] => (lines.length === 0 ? [] : [...lines, '']);
