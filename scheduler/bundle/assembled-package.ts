import type { SiteInputField } from '#bundles/bundle/config';
import { packageDigest } from '#bundles/bundle/package-digest';
import { compareBytes, type Digest } from '#bundles/digest';
import type { Assignment, Value } from '../platform/model.ts';

/** A package ready to be packed: every file of its folder, final. */
export type AssembledPackage = {
  readonly assignment: Assignment;
  /** Its folder's name in the bundle: the deployment target's. */
  readonly id: string;
  readonly namespace: string | undefined;
  readonly files: readonly { readonly path: string; readonly bytes: Buffer }[];
  readonly digest: Digest;
  readonly siteInputs: readonly (Omit<SiteInputField, 'assignment'> & {
    readonly schema: { readonly [key: string]: Value };
  })[];
  /** What it would own at a site ('Deployment default/x', '/etc/x.conf'): no two packages of a bundle may share one. */
  readonly owns: readonly string[];
  /** Images its objects run, normalised 'host/repo@sha256:...'. */
  readonly images: readonly string[];
};

/** Sorts the files and takes their digest. */
export const assembled = (parts: Omit<AssembledPackage, 'digest'>): AssembledPackage => {
  const files = parts.files.toSorted((a, b) => compareBytes(a.path, b.path));
  return { ...parts, files, digest: packageDigest(files) };
};
