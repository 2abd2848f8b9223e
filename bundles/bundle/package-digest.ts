import { canonicalBytes } from '../canonical.ts';
import { compareBytes, type Digest, digestOf } from '../digest.ts';

export type PackageFile = { readonly path: string; readonly bytes: Uint8Array };

/**
 * What identifies a package: the sorted list of its files and their digests, free of any packing
 * (docs/bundle-format.md section 3). Site values are not in it; what an agent runs is (package, site values).
 */
export const packageDigest = (files: readonly PackageFile[]): Digest =>
  digestOf(
    canonicalBytes(
      files
        .map((file) => ({ path: file.path, digest: digestOf(file.bytes), size: file.bytes.byteLength }))
        .toSorted((a, b) => compareBytes(a.path, b.path)),
    ),
  );
