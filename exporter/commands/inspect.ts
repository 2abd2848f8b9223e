import { Args } from '@oclif/core';
import { shortDigest } from '#bundles/digest';
import { openMedium } from '#bundles/medium/open-medium';
import { FleetCommand } from '#bundles/program/fleet-command';
import { type Contents, type Inspection, inspectMedium } from '../inspect/inspect-medium.ts';
import { formatBytes } from '../show/format-bytes.ts';
import { formatTable } from '../show/table.ts';

export default class Inspect extends FleetCommand {
  static override summary = 'Show what a medium says is on it, in milliseconds; nothing is believed';
  static override examples = ['<%= config.bin %> inspect /media/stick'];
  static override args = {
    medium: Args.string({ required: true, description: 'A folder or a tar' }),
  };

  async run(): Promise<Inspection> {
    const { args } = await this.parse(Inspect);
    await using medium = await openMedium(args.medium);
    const found = await inspectMedium(medium);
    this.log(formatInspection(found));
    return found;
  }
}

const formatInspection = ({ path, form, filled, reports, requests }: Inspection): string =>
  [
    ...(filled ? formatContents(path, form, filled) : [`${path} (${form}): not filled yet`]),
    `Reports: ${reports.length} files. Requests: ${requests.length}${requests.length > 0 ? `: ${requests.join(', ')}` : '.'}`,
    'Nothing of this was verified; fleet-export verify does that.',
  ].join('\n');

const formatContents = (path: string, form: string, it: Contents): readonly string[] => [
  `${path} (${form}): fleet ${it.fleet}, made ${it.createdAt}, ${it.blobs} blobs, ${formatBytes(it.bytes)}${
    it.chunked > 0 ? `, ${it.chunked} of them in pieces` : ''
  }`,
  `Roots: ${it.roots.join(', ')}. Sites: ${it.sites.map(({ site, version }) => `${site} (${version})`).join(', ') || 'none'}. Receipts: ${it.receipts}.`,
  '',
  formatTable(
    ['CHANNEL', 'RELEASE', 'EXPIRES'],
    it.releases.map(({ channel, version, expires }) => [channel, String(version ?? '?'), expires ?? '?']),
  ),
  '',
  formatTable(
    ['CHANNEL', 'KIND', 'BUNDLE', 'ASSUMED', 'BASE'],
    it.bundles.map(({ channel, kind, digest, assumedBlobs, assumedBytes, base }) => [
      channel,
      kind,
      shortDigest(digest),
      assumedBlobs === 0 ? 'nothing' : `${assumedBlobs} blobs, ${formatBytes(assumedBytes)}`,
      base.map(shortDigest).join(' ') || '-',
    ]),
  ),
  '',
];
