import type { FleetError } from '#bundles/errors';
import type { ImageRules } from '../images/image-rules.ts';
import type { KubernetesObject } from '../../model/kubernetes/kubernetes-object.ts';
import type { ObjectBounds } from './tenancy.ts';

/** A manifest file as it goes into a package. */
export type PreparedManifest = {
  readonly text: string;
  /** A function: the objects in another namespace are made only if two of them clash. */
  readonly objects: () => readonly PreparedObject[];
  /** Identities of the objects, unique in a bundle: 'Deployment.apps shop/web'. */
  readonly owns: readonly string[];
  /** Images its objects run, normalised 'host/repo@sha256:...'. */
  readonly images: readonly string[];
  /** Objects of unknown kinds: advice, not errors. */
  readonly unknown: readonly PreparedObject[];
  /** Values that look like images but are in no image field, as advice. */
  readonly suspects?: readonly FleetError[];
  /** undefined: no secrets. */
  readonly secrets?: ManifestSecrets;
};

export type PreparedObject = Pick<KubernetesObject, 'apiVersion' | 'kind' | 'name' | 'namespace' | 'at'>;

/** Secrets in a manifest (docs/bundle-format.md section 16). */
export type ManifestSecrets = {
  /** Documents encrypted by SOPS, whose values must stay byte for byte. */
  readonly encrypted: readonly (PreparedObject & { readonly mac: string })[];
  /** The sealed sets that agents fill Secrets from. */
  readonly filled: readonly string[];
  /** Secrets in plain text, readable in the repository and in the bundle. */
  readonly plain: readonly PreparedObject[];
};

export type ManifestJudge = {
  readonly target: string;
  readonly judge: (object: KubernetesObject) => readonly FleetError[];
  /** Called for valid objects only. */
  readonly isUnknown: (object: KubernetesObject) => boolean;
};

export type ManifestInput = {
  /** Name of the file for messages. */
  readonly shown: string;
  /** A string is taken as it is. */
  readonly content: Buffer | string;
  readonly namespace: string;
  /** A person chose the namespace, so that it may be any word of the text: 'apps' of apps/v1. */
  readonly isChosen?: boolean | undefined;
  readonly offline: boolean;
  readonly imageLocks: ReadonlyMap<string, string>;
  /** Image fields; default: those of well-known kinds. */
  readonly rules?: ImageRules | undefined;
  /** Judges objects as the target clusters would; `target` names these clusters. */
  readonly judge?: ManifestJudge | undefined;
  /** Bounds of its author. */
  readonly bounds: ObjectBounds;
};

/** By the text with a placeholder for the namespace. */
export type TextCache = Pick<Map<string, PreparedManifest>, 'clear' | 'get' | 'size'> & {
  readonly set: (text: string, made: PreparedManifest) => unknown;
};

/** By all inputs of the result but the text. */
export type ManifestCache = {
  readonly get: (key: string) => TextCache | undefined;
  readonly set: (key: string, texts: TextCache) => unknown;
};
