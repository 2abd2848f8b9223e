import { parseImageName, repositoryOf } from '../images/image-name.ts';
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
  const repositories = names.map(comparable);
  return policies.filter(({ match, except }) =>
    repositories.some(
      (name) =>
        match.some((pattern) => matchImage(comparablePattern(pattern), name)) &&
        !except.some((pattern) => matchImage(comparablePattern(pattern), name)),
    ),
  );
};

/** A name that cannot be read is still judged, as it is: `**` matches it. */
const comparable = (name: string): string => {
  const image = parseImageName(name);
  return image ? withoutAlias(repositoryOf(image)) : name.replace(/@.*$/, '');
};

const comparablePattern = (pattern: string): string => {
  const slash = pattern.indexOf('/');
  if (slash === -1) return pattern;
  const written = withoutAlias(`${pattern.slice(0, slash).toLowerCase()}${pattern.slice(slash)}`);
  // As in names: what has no namespace on Docker Hub is one of library.
  return written.replace(/^docker\.io\/(?!.*(?:\/|\*\*))/, 'docker.io/library/');
};

/** Docker Hub answers under several names, and 443 is the port of a name without one. */
const withoutAlias = (name: string): string =>
  name.replace(/^([^/]*):443(?=\/)/, '$1').replace(/^(?:index|registry-1)\.docker\.io(?=\/)/, 'docker.io');
