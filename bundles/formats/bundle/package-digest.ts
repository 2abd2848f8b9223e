import { compareBytes, type Digest, digestOf } from '../../digest.ts';

/** A string is hashed as UTF-8. */
export type PackageFile = { readonly path: string; readonly bytes: Uint8Array | string };

/**
 * Identity of a package: the digest of the sorted list of its files with their digests, independent of packing
 * (docs/bundle-format.md section 3). Excludes site values: an agent runs a pair of package and site values.
 */
export const packageDigest = (files: readonly PackageFile[]): Digest =>
  // Canonical JSON, written out: this is done for every package of a fleet.
  digestOf(
    `[${sorted(files)
      .map(
        ({ path, bytes }) =>
          `{"digest":"${digestOf(bytes)}","path":${JSON.stringify(path)},"size":${Buffer.byteLength(bytes)}}`,
      )
      .join(',')}]`,
  );

/** Sorts only when needed: most callers pass sorted files. */
const sorted = (files: readonly PackageFile[]): readonly PackageFile[] =>
  files.every(({ path }, at) => at === 0 || compareBytes((files[at - 1] as PackageFile).path, path) <= 0)
    ? files
    : files.toSorted((a, b) => compareBytes(a.path, b.path));
