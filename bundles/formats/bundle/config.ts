import type { Digest } from '../../digest.ts';
import type { Json } from '../../json/canonical.ts';
import { parseStrictJson } from '../../json/strict-json.ts';
import { parseDocument } from '../../json/validate.ts';
import type { BundleKind } from '../../names.ts';
import type { ImagePolicy } from './image-policy.ts';

export type BundleAssignment = {
  /** Deployment target name; unique in the bundle. */
  readonly id: string;
  /** Digest of the package's content, independent of packing (packageDigest). */
  readonly package: Digest;
  /** Its folder in the layer. */
  readonly path: string;
  readonly layer: Digest;
  /** Blobs of the closure that a host package needs, sorted: its large files, and every blob of its images. Absent if there are none. */
  readonly blobs?: readonly Digest[];
  /**
   * Names that the package may use on the host; absent for packages of the platform, and in bundles from versions without
   * bounds.
   */
  readonly bounds?: PackageBounds;
  readonly dependsOn: readonly string[];
  readonly critical: boolean;
  readonly workspace?: string;
  readonly workload?: string;
  readonly deploymentTarget?: string;
  readonly namespace?: string;
};

/** Maps a site value to the one field that takes it. The substitution is typed, never textual. */
export type SiteInputField = {
  /** Name of the site value. */
  readonly input: string;
  readonly assignment: string;
  /** Kubernetes: file in the package folder. Host: target path of a file with a `format`. */
  readonly file: string;
  /** JSON pointer into the parsed file; for an env file '/<KEY>'. Kubernetes: '/<document index>/...'. */
  readonly pointer: string;
  /** Kubernetes: the field takes text; a value that is not text is written as JSON. */
  readonly as?: 'text';
  /** Kubernetes: pods that read the ConfigMap restart when its content changes. */
  readonly restart?: true;
};

/** A mapping in an object that gets all values of the site that the package may read, as text. Kubernetes. */
export type CompletedConfig = Pick<SiteInputField, 'assignment' | 'file' | 'pointer'>;

/** An image or file that is delivered with the bundle; for an image with everything that its manifest reaches. */
export type ClosureEntry = {
  readonly digest: Digest;
  readonly size: number;
  readonly mediaType: string;
  readonly platform?: string;
  /** Normalised 'host/repo@sha256:...'. */
  readonly names?: readonly string[];
  /** Manifests of the closure whose subject it is: signatures, signed indexes that name it, attestations, SBOMs. */
  readonly attachments?: readonly Digest[];
  /** Tags of attachments in the image's repository: 'sha256-<hex>.att' to a digest of `attachments`. */
  readonly attachmentTags?: Readonly<Record<string, Digest>>;
};

/** Lets agents reboot their hosts when that is required. Agents that do not know it reboot nothing. */
export type RebootPolicy = {
  /** Times in which a reboot may begin, '<cron> for <duration>' in the time zone of the host. */
  readonly windows: readonly string[];
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
    /** Absent without any. */
    readonly configs?: readonly CompletedConfig[];
  };
  readonly requirements: {
    readonly diskBytes?: number;
    readonly kubernetes?: string;
    readonly agent?: string;
  };
  readonly closure: readonly ClosureEntry[];
  /** Policies that apply to an image of the closure. `critical` names the field, so that older agents refuse the bundle. */
  readonly imagePolicy?: readonly ImagePolicy[];
  /** Of a host; absent: the agent reboots nothing. */
  readonly reboot?: RebootPolicy;
  readonly critical: readonly string[];
};

/** 16 MiB: several times the size of ten thousand assignments with their closure. */
export const MAX_CONFIG_BYTES = 16 << 20;

/** @throws FleetError TOO_LARGE, BAD_JSON, TOO_DEEP, SCHEMA, UNSUPPORTED */
export const parseBundleConfig = (bytes: Uint8Array): BundleConfig =>
  parseDocument('bundle-config', parseBundleJson(bytes), 'bundle config');

/** The JSON of a bundle config, or of a part of it, within the limits of its readers. @throws FleetError TOO_LARGE, BAD_JSON, TOO_DEEP */
export const parseBundleJson = (bytes: Uint8Array): unknown =>
  parseStrictJson(bytes, { maxBytes: MAX_CONFIG_BYTES, maxDepth: 64 }, 'bundle config');

/** Names that one package may use on a host (docs/workspaces.md, docs/bundle-format.md section 4). An absent list is empty. */
export type PackageBounds = {
  /** Absolute paths on the host, each with everything below it. */
  readonly paths?: readonly string[];
  /** Paths, unit names, checks (`check:<argv as JSON>`) and playbooks (`playbook:<digest>`) from the platform's templates. The other lists do not limit them. */
  readonly platform?: readonly string[];
  /** Seconds that its checks, and the starts and stops of its services, may take together; absent without a limit. */
  readonly seconds?: number;
  /** Patterns of names, `*` for any characters. */
  readonly secretSets?: readonly string[];
  /** Patterns of the site values that it may read, `*` for any characters; absent: any. */
  readonly siteValues?: readonly string[];
  /** Patterns of unit names, `*` for any characters. */
  readonly units?: readonly string[];
  /** Owners and groups of files besides root, and users of units. With root the settings of units are not limited. */
  readonly users?: readonly string[];
};
