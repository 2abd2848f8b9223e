import type { ItemDiff } from '#bundles/formats/diff/compare-items';
import { type Digest, shortDigest } from '#bundles/digest';
import { plainText, plainLine } from '#bundles/errors';
import { nameSome } from '#bundles/name-some';
import { formatBytes } from '#cli/format-bytes';
import type { BundleDiff, FileDiff, ImageDiff, PackageDiff } from './compare-bundles.ts';
import type { ChannelDiff, SidesDiff } from './compare-sides.ts';

/** A summary of the differences, then a unified diff of every object, without terminal control characters. */
export const formatDiff = (diff: SidesDiff): string =>
  plainText(
    [
      ...diff.channels.flatMap(formatChannelDiff).map(plainLine),
      ...diff.sites.map(
        ({ site, before, after }) => `statement of site ${site}: ${before ?? 'none'} -> ${after ?? 'none'}`,
      ),
      ...(diff.unchanged.length > 0 ? [`the same: ${nameSome(diff.unchanged)}`] : []),
      ...diff.notes.map((note) => plainLine(`Note: ${note}.`)),
      ...diff.channels.flatMap(formatObjects),
      '',
      diff.same
        ? plainLine(`${diff.before} and ${diff.after} have the same content.`)
        : `${plainLine(diff.after)} has ${formatBytes(diff.bytes)} that ${plainLine(diff.before)} does not have${describePatched(diff.patched)}.`,
    ].join('\n'),
  );

const describePatched = (patched: number): string =>
  patched === 0 ? '' : `, with ${patched} ${patched === 1 ? 'blob as a patch' : 'blobs as patches'}`;

const formatChannelDiff = ({ channel, release, bundles, bytes }: ChannelDiff): readonly string[] => [
  `${channel}: release ${release.before ?? 'none'} -> ${release.after ?? 'none'}, ${formatBytes(bytes)} to travel`,
  ...bundles.flatMap(formatBundle),
];

const formatBundle = ({
  kind,
  before,
  after,
  packages,
  images,
  files,
  note,
}: BundleDiff): readonly string[] => [
  `  ${kind} bundle ${short(before)} -> ${short(after)}${note === undefined ? '' : `: ${note}`}`,
  ...packages.map(formatPackage),
  ...images.map(formatImage),
  ...formatFiles(files),
];

const formatPackage = ({ assignment, outcome, before, after, note }: PackageDiff): string =>
  `    package ${assignment}: ${outcome}, ${short(before)} -> ${short(after)}${note === undefined ? '' : ` (${note})`}`;

const formatImage = ({ image, before, after }: ImageDiff): string =>
  `    image ${image}: ${before.map(shortDigest).join(' ') || 'none'} -> ${after.map(shortDigest).join(' ') || 'none'}`;

const formatFiles = (files: readonly FileDiff[]): readonly string[] =>
  files.map(
    ({ digest, size, mediaType, outcome }) =>
      `    file ${shortDigest(digest)}: ${outcome}, ${formatBytes(size)}, ${mediaType}`,
  );

const short = (digest: Digest | undefined): string => (digest ? shortDigest(digest) : 'none');

const formatObjects = ({ channel, bundles }: ChannelDiff): readonly string[] =>
  bundles.flatMap(({ packages }) =>
    packages.flatMap(({ assignment, objects }) =>
      objects.map((item) => formatItem(`${channel}/${assignment}/`, item)),
    ),
  );

const formatItem = (prefix: string, { object, outcome, diff }: ItemDiff): string => {
  const before = outcome === 'created' ? '/dev/null' : `a/${prefix}${object}`;
  const after = outcome === 'deleted' ? '/dev/null' : `b/${prefix}${object}`;
  return `\n--- ${plainLine(before)}\n+++ ${plainLine(after)}\n${diff.replace(/\n$/, '')}`;
};
