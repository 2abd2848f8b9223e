import { compareBytes, type Digest, digestOf } from '../digest.ts';

/** A string stands for its UTF-8 bytes. */
export type PackageFile = { readonly path: string; readonly bytes: Uint8Array | string };

/**
 * What identifies a package: the sorted list of its files and their digests, free of any packing
 * (docs/bundle-format.md section 3). Site values are not in it; what an agent runs is (package, site values).
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

/** Who takes many digests has sorted already. */
const sorted = (files: readonly PackageFile[]): readonly PackageFile[] =>
  files.every(({ path }, at) => at === 0 || compareBytes((files[at - 1] as PackageFile).path, path) <= 0)
    ? files
    : files.toSorted((a, b) => compareBytes(a.path, b.path));
