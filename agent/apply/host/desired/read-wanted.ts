import { defined } from '#bundles/defined';
import {
  type HostCheck,
  type HostDirectory,
  type HostFile,
  type HostPlaybook,
  type HostInstall,
  type HostRauc,
  type HostSecret,
  type HostUnit,
  parseHostPackage,
} from '#bundles/formats/bundle/host-package';
import { compareBytes, type Digest, digestOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { BlobRef } from '#bundles/formats/medium/medium';
import { verified } from '#bundles/formats/layout/verified';
import { type KeyedHash, secretValue } from '../../../model/package-secrets.ts';
import type { DesiredPackage } from '../../../model/target.ts';
import { ancestorsOf } from './ancestors-of.ts';
import { finalBytes } from './final-bytes.ts';

export type WantedDirectory = {
  readonly path: string;
  /** The path as the package writes it. `path` differs where links or mounts of the host lead elsewhere (locate.ts). */
  readonly named: string;
  readonly mode: number;
  readonly owner: string;
  readonly group: string;
};

/** The bytes in memory, or a reader of the store; bytes from the store are checked against `digest` while they are written. */
export type Content =
  | { readonly bytes: Buffer }
  | {
      readonly open: (signal: AbortSignal) => Promise<AsyncIterable<Uint8Array>>;
      /** The same bytes as a file of the store; undefined: it has no files. */
      readonly stored: StoredBlob | undefined;
    };

/** A file that a kernel may copy. Its bytes are NOT verified. */
export type StoredBlob = BlobRef & { readonly path: string; readonly store: string };

/** The desired state of a file. `digest` and `size` are of the final bytes, site values included. */
export type WantedFile = WantedDirectory & { readonly digest: Digest; readonly size: number } & Content;

/** The desired state of a file made of a secret. `digest` is compared in memory and never stored or printed; `hash` may be stored. */
export type WantedSecret = WantedDirectory & {
  readonly bytes: Buffer;
  readonly size: number;
  readonly digest: Digest;
  readonly hash: ReturnType<KeyedHash>;
};

/** A parsed package: directories and files by path, units in the order of package.json. */
export type Wanted = {
  readonly assignment: string;
  readonly directories: readonly WantedDirectory[];
  readonly files: ReadonlyMap<string, WantedFile>;
  readonly secrets: ReadonlyMap<string, WantedSecret>;
  readonly units: readonly HostUnit[];
  readonly playbooks: readonly HostPlaybook[];
  readonly checks: readonly HostCheck[];
  readonly install?: HostInstall;
  readonly rauc?: HostRauc;
  /** Images that quadlets run, 'host/repo@sha256:...'. */
  readonly images: readonly string[];
};

type SiteInputs = DesiredPackage['siteInputs'];

const known = new WeakMap<DesiredPackage, Wanted>();

/**
 * Reads package.json, checks every file against it and inserts the site values. Cached for each package, because every step calls it.
 * @throws FleetError BUNDLE_FORMAT, DIGEST_MISMATCH, DUPLICATE, SITE_VALUES, SECRET_MISSING, BAD_JSON, TOO_LARGE
 */
export const readWanted = (desired: DesiredPackage): Wanted => {
  const before = known.get(desired);
  if (before) return before;
  const document = desired.files.get('package.json');
  if (document === undefined)
    throw new FleetError('BUNDLE_FORMAT', `the package of ${desired.assignment} has no package.json`);
  const {
    directories,
    files,
    secrets = [],
    units,
    playbooks = [],
    checks,
    probes = [],
    install,
    rauc,
    images = [],
  } = parseHostPackage(document);
  refuseClashes(desired.assignment, directories, [...files, ...secrets], units);
  const inputs = desired.siteInputs.filter((input) => input.assignment === desired.assignment);
  refuseStrayInputs(desired.assignment, inputs, files);
  const wanted: Wanted = defined({
    assignment: desired.assignment,
    directories: directories.map(asDirectory).toSorted((a, b) => compareBytes(a.path, b.path)),
    files: new Map(
      files
        .toSorted((a, b) => compareBytes(a.path, b.path))
        .map((file) => [file.path, asFile(file, desired, inputs)]),
    ),
    secrets: new Map(
      secrets
        .toSorted((a, b) => compareBytes(a.path, b.path))
        .map((secret) => [secret.path, asSecret(secret, desired)]),
    ),
    units,
    playbooks,
    checks: [...checks, ...probes],
    install,
    rauc,
    images,
  });
  known.set(desired, wanted);
  return wanted;
};

const asDirectory = ({ path, mode, owner, group }: HostDirectory): WantedDirectory => ({
  path,
  named: path,
  mode: Number.parseInt(mode, 8),
  owner,
  group,
});

const asFile = (file: HostFile, desired: DesiredPackage, siteInputs: SiteInputs): WantedFile => {
  if ('blob' in file) return asBlob(file, desired, siteInputs);
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
  const digest = inputs.length === 0 ? file.digest : digestOf(bytes);
  return { ...asDirectory(file), bytes, size: bytes.length, digest };
};

const asBlob = (
  file: Extract<HostFile, { readonly blob: true }>,
  { assignment, blobs }: DesiredPackage,
  siteInputs: SiteInputs,
): WantedFile => {
  const { path, digest, size } = file;
  if (siteInputs.some((input) => input.file === path))
    throw new FleetError(
      'SITE_VALUES',
      `${path} is a blob of the bundle, and site values go only into files of the package`,
    );
  if (!blobs)
    throw new FleetError(
      'BUNDLE_FORMAT',
      `${path}: the bundle names no blobs for the package of ${assignment}`,
    );
  const open = async (signal: AbortSignal) =>
    verified(digest, size, await blobs.open(digest, signal), blobs.name);
  const stored = blobs.path && { digest, size, path: blobs.path(digest), store: blobs.name };
  return { ...asDirectory(file), digest, size, open, stored };
};

const asSecret = (secret: HostSecret, desired: DesiredPackage): WantedSecret => {
  const { secrets } = desired;
  const bytes = secretBytes(secret, desired);
  // open-package.ts opens both, so the secret is always present.
  if (!secrets) throw new FleetError('INTERNAL', `${secret.path}: its secret was not opened`);
  const { length: size } = bytes;
  return { ...asDirectory(secret), bytes, size, digest: digestOf(bytes), hash: secrets.hash(bytes) };
};

const secretBytes = (secret: HostSecret, { secrets, files }: DesiredPackage): Buffer => {
  if ('set' in secret) return secretValue(secrets, secret.set, secret.key, secret.path);
  const bytes = secrets?.decrypted.has(secret.content) ? files.get(secret.content) : undefined;
  if (bytes) return bytes;
  throw new FleetError(
    'BUNDLE_FORMAT',
    `${secret.path}: the package has no file ${JSON.stringify(secret.content)}`,
  );
};

const refuseClashes = (
  assignment: string,
  directories: readonly HostDirectory[],
  files: readonly Pick<HostFile, 'path'>[],
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

/** Rejects site values for files that the package does not have. @throws FleetError SITE_VALUES */
const refuseStrayInputs = (assignment: string, inputs: SiteInputs, files: readonly HostFile[]): void => {
  const paths = new Set(files.map((file) => file.path));
  const stray = inputs.find((input) => !paths.has(input.file));
  if (stray !== undefined)
    throw new FleetError(
      'SITE_VALUES',
      `site value ${JSON.stringify(stray.input)} goes to ${stray.file}, which ${assignment} does not have`,
    );
};
