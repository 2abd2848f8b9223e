import type { FleetError } from '#bundles/errors';
import type { ImageRules } from '../images/image-rules.ts';
import type { KubernetesObject } from '../../model/kubernetes/kubernetes-object.ts';
import type { ObjectBounds } from './tenancy.ts';

/** A manifest file as it goes into a package. */
export type PreparedManifest = {
  readonly text: string;
  readonly objects: readonly PreparedObject[];
  /** The same objects as no two packages of a bundle may have them: 'Deployment.apps shop/web'. */
  readonly owns: readonly string[];
  /** Images its objects run, normalised 'host/repo@sha256:...'. */
  readonly images: readonly string[];
  /** Objects of kinds that nobody knows: told, and no mistake. */
  readonly unknown: readonly PreparedObject[];
  /** What may be an image and is in no rule, as advice. */
  readonly suspects?: readonly FleetError[];
  /** undefined: there is nothing of the kind in it. */
  readonly secrets?: ManifestSecrets;
};

export type PreparedObject = Pick<KubernetesObject, 'apiVersion' | 'kind' | 'name' | 'namespace' | 'at'>;

/** What a manifest has of secrets (docs/bundle-format.md section 16). */
export type ManifestSecrets = {
  /** Documents that SOPS encrypted: no byte of their values may change. */
  readonly encrypted: readonly (PreparedObject & { readonly mac: string })[];
  /** The sealed sets that agents fill Secrets from. */
  readonly filled: readonly string[];
  /** Secrets that anybody with the repository or the bundle can read. */
  readonly plain: readonly PreparedObject[];
};

export type ManifestJudge = {
  readonly target: string;
  readonly judge: (object: KubernetesObject) => readonly FleetError[];
  /** Asked about objects with which nothing is wrong. */
  readonly isUnknown: (object: KubernetesObject) => boolean;
};

export type ManifestInput = {
  /** How messages name the file. */
  readonly shown: string;
  readonly bytes: Buffer;
  readonly namespace: string;
  readonly offline: boolean;
  readonly imageLocks: ReadonlyMap<string, string>;
  /** Where images stand; without them what is known of common kinds. */
  readonly rules?: ImageRules | undefined;
  /** What the clusters it is for would refuse in an object; `target` names those clusters. */
  readonly judge?: ManifestJudge | undefined;
  /** What its author may write. */
  readonly bounds: ObjectBounds;
};

/** By text, with a placeholder for the namespace, and all else that the result depends on. */
export type ManifestCache = Map<string, PreparedManifest>;
