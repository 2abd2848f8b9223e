import type { CompletedConfig, PackageBounds, SiteInputField } from '#bundles/formats/bundle/config';
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
  /** Mappings that all values of the site complete; absent without any. */
  readonly siteConfigs?: readonly Omit<CompletedConfig, 'assignment'>[];
  /** Objects and paths that it owns at a site ('Deployment default/x', '/etc/x.conf'), unique among the packages of a bundle. */
  readonly owns: readonly string[];
  /** Images its objects run, normalised 'host/repo@sha256:...'. */
  readonly images: readonly string[];
  /** Of a host package: every blob of its images, which the agent's store keeps. Set when its images are resolved. */
  readonly imageBlobs?: readonly Digest[];
  /** Files that travel as blobs of the closure; the same bytes may come from several places. */
  readonly contents?: readonly Content[];
  /** Objects of unknown kinds. */
  readonly unknown?: readonly PreparedObject[];
  /** Advice: values that look like images but are in no image field, files whose change restarts no unit. */
  readonly suspects?: readonly FleetError[];
  /** Secrets that the agent creates. Readers that do not know this field must refuse the package. */
  readonly needsSecrets?: boolean;
  /** Secrets in plain text. */
  readonly plainSecrets?: readonly PreparedObject[];
  /** Names that it may use, which the agent checks again; absent for a package of the platform. */
  readonly bounds?: PackageBounds | undefined;
  /** Of a registered application on a host: seconds that it may keep the host waiting (packageSpans). */
  readonly seconds?: number;
  /** Of a registered application: names of the site values that its own files ask for. */
  readonly reads?: readonly string[];
  /** YAML files of the application without any object: paths in its folder. */
  readonly emptyFiles?: readonly string[];
};

/** Sorts the files and computes the digest of the package. */
export const assembled = (parts: Omit<AssembledPackage, 'digest'>): AssembledPackage => {
  const files = parts.files.toSorted((a, b) => compareBytes(a.path, b.path));
  return { ...parts, files, digest: packageDigest(files) };
};
