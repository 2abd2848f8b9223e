import type { PackageBounds } from '../bounds/package-bounds.ts';
import type { Json } from '../canonical.ts';
import type { Digest } from '../digest.ts';
import type { ImagePolicy } from '../signatures/image-policy.ts';
import { parseStrictJson } from '../strict-json.ts';
import { parseDocument } from '../validate.ts';

export type BundleKind = 'kubernetes' | 'host';

export type BundleAssignment = {
  /** Deployment target name; unique in the bundle. */
  readonly id: string;
  /** Content of the package, whatever it is packed in (packageDigest). */
  readonly package: Digest;
  /** Its folder in the layer. */
  readonly path: string;
  readonly layer: Digest;
  /** Files of a host package that are blobs of the closure, sorted; absent for none. */
  readonly blobs?: readonly Digest[];
  /** What the package may name; absent for the platform's own, and in bundles from before there were any. */
  readonly bounds?: PackageBounds;
  readonly dependsOn: readonly string[];
  readonly critical: boolean;
  readonly workspace?: string;
  readonly workload?: string;
  readonly deploymentTarget?: string;
  readonly namespace?: string;
};

/** A value only a site knows and the one field it goes to: typed substitution, never text. */
export type SiteInputField = {
  /** Name of the site value. */
  readonly input: string;
  readonly assignment: string;
  /** Kubernetes: file in the package folder. Host: target path of a file with a `format`. */
  readonly file: string;
  /** JSON pointer into the parsed file; for an env file '/<KEY>'. Kubernetes: '/<document index>/...'. */
  readonly pointer: string;
};

/** An image or file that must come along; for an image everything its manifest reaches comes with it. */
export type ClosureEntry = {
  readonly digest: Digest;
  readonly size: number;
  readonly mediaType: string;
  readonly platform?: string;
  /** Normalised 'host/repo@sha256:...'. */
  readonly names?: readonly string[];
  /** Manifests of the closure about it: signatures, signed indexes that name it, attestations, SBOMs. */
  readonly attachments?: readonly Digest[];
  /** Tags that some of them are found under beside the image: 'sha256-<hex>.att' to a digest of `attachments`. */
  readonly attachmentTags?: Readonly<Record<string, Digest>>;
};

/** Config blob of a bundle (docs/bundle-format.md section 4). */
export type BundleConfig = {
  readonly fleet: string;
  readonly environment: string;
  readonly clusterType: string;
  readonly kind: BundleKind;
  readonly assignments: readonly BundleAssignment[];
  readonly siteInputs: {
    readonly schema: { readonly [key: string]: Json };
    readonly fields: readonly SiteInputField[];
  };
  readonly requirements: {
    readonly diskBytes?: number;
    readonly kubernetes?: string;
    readonly agent?: string;
  };
  readonly closure: readonly ClosureEntry[];
  /** Those that an image of the closure is under. Its name is in `critical`: who does not know it must not install. */
  readonly imagePolicy?: readonly ImagePolicy[];
  readonly critical: readonly string[];
};

/** 16 MiB: ten thousand assignments with their closure fit several times over. */
const MAX_BYTES = 16 << 20;

/** @throws FleetError TOO_LARGE, BAD_JSON, TOO_DEEP, SCHEMA, UNSUPPORTED */
export const parseBundleConfig = (bytes: Uint8Array): BundleConfig =>
  parseDocument(
    'bundle-config',
    parseStrictJson(bytes, { maxBytes: MAX_BYTES, maxDepth: 64 }, 'bundle config'),
    'bundle config',
  );
