import type { PackageBounds, SiteInputField } from '#bundles/formats/bundle/config';
import { type PackageFile, packageDigest } from '#bundles/formats/bundle/package-digest';
import { compareBytes, type Digest } from '#bundles/digest';
import type { FleetError } from '#bundles/errors';
import type { Content } from '../content/content.ts';
import type { Assignment, Value } from '../../model/model.ts';
import type { PreparedObject } from './prepared-manifest.ts';

/** A package ready to be packed, with the final content of every file. */
export type AssembledPackage = {
  readonly assignment: Assignment;
  /** Name of its folder in the bundle, which is the name of the deployment target. */
  readonly id: string;
  readonly namespace: string | undefined;
  readonly files: readonly PackageFile[];
  readonly digest: Digest;
  readonly siteInputs: readonly (Omit<SiteInputField, 'assignment'> & {
    readonly schema: { readonly [key: string]: Value };
  })[];
  /** What it would own at a site ('Deployment default/x', '/etc/x.conf'): no two packages of a bundle may share one. */
  readonly owns: readonly string[];
  /** Images its objects run, normalised 'host/repo@sha256:...'. */
  readonly images: readonly string[];
  /** Files that travel as blobs of the closure; the same bytes may come from several places. */
  readonly contents?: readonly Content[];
  /** Its objects of kinds that nobody knows. */
  readonly unknown?: readonly PreparedObject[];
  /** What in them may be an image and is in no rule, as advice. */
  readonly suspects?: readonly FleetError[];
  /** What its agent has to make of secrets; a reader that knows nothing of them must not carry it out. */
  readonly needsSecrets?: boolean;
  /** Secrets in plain text. */
  readonly plainSecrets?: readonly PreparedObject[];
  /** What it may name, for its agent to check again; absent for a package of the platform's own. */
  readonly bounds?: PackageBounds | undefined;
};

/** Sorts the files and takes their digest. */
export const assembled = (parts: Omit<AssembledPackage, 'digest'>): AssembledPackage => {
  const files = parts.files.toSorted((a, b) => compareBytes(a.path, b.path));
  return { ...parts, files, digest: packageDigest(files) };
};
