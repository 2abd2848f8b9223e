import type { Digest } from '../../digest.ts';

/**
 * Plaintext of an age file of the role `secrets`, as canonical JSON (docs/bundle-format.md section 16). age binds no context to
 * a file, so the opener checks that it is the one that was asked for.
 */
export type SecretSet = {
  readonly fleet: string;
  readonly site: string;
  /** A name of one DNS label; unique in its site. */
  readonly name: string;
  /** Counts the set's contents, from 1. */
  readonly version: number;
  /** Base64 by key, as in a Kubernetes Secret. Keys match `[-._a-zA-Z0-9]{1,253}`. */
  readonly values: { readonly [key: string]: string };
};

/** A sealed set as a site statement names it: subject `secrets/<name>`. */
export type SealedSet = { readonly name: string; readonly digest: Digest };

/** One sealed file; a set is for passwords and certificates, not for data. */
export const MAX_SEALED_BYTES = 1 << 20;

export const SECRETS_SUBJECT = 'secrets/';
