import {
  type HostCheck,
  type HostDirectory,
  type HostFile,
  type HostUnit,
  parseHostPackage,
} from '#bundles/bundle/host-package';
import { compareBytes, type Digest, digestOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { DesiredPackage } from '../../target.ts';
import { ancestorsOf } from './ancestors-of.ts';
import { finalBytes } from './final-bytes.ts';

/** A file as it shall be; `digest` is of the final bytes, site values included. */
export type WantedFile = {
  readonly path: string;
  readonly mode: number;
  readonly owner: string;
  readonly group: string;
  readonly bytes: Buffer;
  readonly digest: Digest;
};

export type WantedDirectory = Pick<WantedFile, 'path' | 'mode' | 'owner' | 'group'>;

/** A package, read: directories and files by path, units in the order they are listed. */
export type Wanted = {
  readonly assignment: string;
  readonly directories: readonly WantedDirectory[];
  readonly files: ReadonlyMap<string, WantedFile>;
  readonly units: readonly HostUnit[];
  readonly checks: readonly HostCheck[];
};

type SiteInputs = DesiredPackage['siteInputs'];

const known = new WeakMap<DesiredPackage, Wanted>();

/**
 * Reads package.json, checks every file's bytes against it and puts the site values in. Read once a package: each of
 * its steps asks again.
 * @throws FleetError those of parseHostPackage; BUNDLE_FORMAT, DIGEST_MISMATCH, DUPLICATE, SITE_VALUES
 */
export const readWanted = (desired: DesiredPackage): Wanted => {
  const before = known.get(desired);
  if (before) return before;
  const document = desired.files.get('package.json');
  if (document === undefined)
    throw new FleetError('BUNDLE_FORMAT', `the package of ${desired.assignment} has no package.json`);
  const { directories, files, units, checks } = parseHostPackage(document);
  refuseClashes(desired.assignment, directories, files, units);
  const inputs = desired.siteInputs.filter((input) => input.assignment === desired.assignment);
  refuseStrayInputs(desired.assignment, inputs, files);
  const wanted: Wanted = {
    assignment: desired.assignment,
    directories: directories.map(asDirectory).toSorted((a, b) => compareBytes(a.path, b.path)),
    files: new Map(
      files
        .toSorted((a, b) => compareBytes(a.path, b.path))
        .map((file) => [file.path, asFile(file, desired, inputs)]),
    ),
    units,
    checks,
  };
  known.set(desired, wanted);
  return wanted;
};

const asDirectory = ({ path, mode, owner, group }: HostDirectory): WantedDirectory => ({
  path,
  mode: Number.parseInt(mode, 8),
  owner,
  group,
});

const asFile = (file: HostFile, desired: DesiredPackage, siteInputs: SiteInputs): WantedFile => {
  const content = desired.files.get(file.content);
  if (content === undefined)
    throw new FleetError(
      'BUNDLE_FORMAT',
      `${file.path}: the package has no file ${JSON.stringify(file.content)}`,
    );
  if (digestOf(content) !== file.digest)
    throw new FleetError(
      'DIGEST_MISMATCH',
      `${file.path}: ${file.content} is not what package.json says it is`,
    );
  const inputs = siteInputs.filter((input) => input.file === file.path);
  const bytes = finalBytes(file, content, inputs);
  return { ...asDirectory(file), bytes, digest: inputs.length === 0 ? file.digest : digestOf(bytes) };
};

const refuseClashes = (
  assignment: string,
  directories: readonly HostDirectory[],
  files: readonly HostFile[],
  units: readonly HostUnit[],
): void => {
  const names = [...directories, ...files].map((entry) => entry.path).concat(units.map((unit) => unit.name));
  const seen = new Set<string>();
  const twice = names.find((name) => seen.size === seen.add(name).size);
  if (twice !== undefined)
    throw new FleetError('DUPLICATE', `the package of ${assignment} lists ${twice} twice`);
  const filePaths = new Set(files.map((file) => file.path));
  for (const { path } of [...directories, ...files]) {
    const above = ancestorsOf(path).find((folder) => filePaths.has(folder));
    if (above !== undefined)
      throw new FleetError(
        'BUNDLE_FORMAT',
        `the package of ${assignment} has ${path} below the file ${above}`,
      );
  }
};

/** A value that goes nowhere is a mistake that would otherwise be found in the factory. */
const refuseStrayInputs = (assignment: string, inputs: SiteInputs, files: readonly HostFile[]): void => {
  const paths = new Set(files.map((file) => file.path));
  const stray = inputs.find((input) => !paths.has(input.file));
  if (stray !== undefined)
    throw new FleetError(
      'SITE_VALUES',
      `site value ${JSON.stringify(stray.input)} goes to ${stray.file}, which ${assignment} does not have`,
    );
};
