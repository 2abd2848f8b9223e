import { compareBytes, digestOf, hexOf } from '#bundles/digest';
import { FleetError, formatPlace, type Place } from '#bundles/errors';
import type { Content } from '../content.ts';
import type { Control } from './read-control.ts';

export type Deb = { readonly content: Content; readonly control: Control; readonly at: Place };

export type AptRepository = {
  /** Unique packages by file name. */
  readonly debs: readonly (Deb & { readonly file: string })[];
  readonly packages: Buffer;
  readonly release: Buffer;
};

/**
 * A flat repository (sources.list(5), `deb file:/... ./`): its index has the control fields, path and SHA-256 of each package.
 * @param label shown by `apt-cache policy`
 * @throws FleetError OBJECT_CLASH for two packages with the same name, version and architecture
 */
export const aptRepository = (given: readonly Deb[], label: string): AptRepository => {
  const debs = new Map<string, Deb & { readonly file: string }>();
  for (const deb of given) {
    const file = fileOf(deb.control);
    const known = debs.get(file);
    if (known && known.content.digest !== deb.content.digest) {
      throw new FleetError(
        'OBJECT_CLASH',
        `${file} is there twice with other content, first at ${formatPlace(known.at)}`,
        { at: deb.at, hint: 'Keep one of the two, or give them different versions' },
      );
    }
    if (!known) debs.set(file, { ...deb, file });
  }
  const sorted = [...debs.values()].toSorted((a, b) => compareBytes(a.file, b.file));
  const packages = Buffer.from(sorted.map(stanzaOf).join('\n'));
  return { debs: sorted, packages, release: releaseOf(packages, sorted, label) };
};

/** File names as in Debian's archive: without the epoch, because some file systems refuse colons. */
const fileOf = (control: Control): string =>
  `${control.package}_${control.version.replace(/^[0-9]+:/, '')}_${control.architecture}.deb`;

const stanzaOf = ({ content, control, file }: Deb & { readonly file: string }): string =>
  [
    ...control.fields,
    { name: 'Filename', value: `./${file}` },
    { name: 'Size', value: String(content.size) },
    { name: 'SHA256', value: hexOf(content.digest) },
  ]
    .map(({ name, value }) => `${name}:${value.startsWith('\n') || value === '' ? '' : ' '}${value}\n`)
    .join('');

/** apt requires a date but does not use it here. It is constant, so that equal packages give equal bytes. */
const DATE = 'Thu, 01 Jan 1970 00:00:00 UTC';

const releaseOf = (packages: Buffer, debs: readonly Deb[], label: string): Buffer => {
  const architectures = [...new Set(debs.map(({ control }) => control.architecture))].toSorted(compareBytes);
  return Buffer.from(
    [
      'Origin: fleet-ferry',
      `Label: ${label}`,
      `Date: ${DATE}`,
      `Architectures: ${architectures.join(' ')}`,
      'SHA256:',
      ` ${hexOf(digestOf(packages))} ${packages.byteLength} Packages`,
      '',
    ].join('\n'),
  );
};
