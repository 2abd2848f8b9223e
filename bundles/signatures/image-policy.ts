import { matchImage } from './match-image.ts';

/** Images of these names must carry a cosign signature of one of these keys (docs/image-signatures.md). */
export type ImagePolicy = {
  readonly name: string;
  /** Patterns of 'host/repository'. */
  readonly match: readonly string[];
  readonly except: readonly string[];
  /** SPKI PEM, as signatureKey writes it; any one of them will do. */
  readonly keys: readonly string[];
};

/**
 * The policies that an image is under: each of them must hold, so that one more policy never weakens another.
 * @param names 'host/repository@sha256:...'; one that fits is enough, for all of them run the same bytes
 */
export const policiesOn = (
  policies: readonly ImagePolicy[],
  names: readonly string[],
): readonly ImagePolicy[] => {
  const repositories = names.map((name) => name.replace(/@.*$/, ''));
  return policies.filter(({ match, except }) =>
    repositories.some(
      (name) =>
        match.some((pattern) => matchImage(pattern, name)) &&
        !except.some((pattern) => matchImage(pattern, name)),
    ),
  );
};
