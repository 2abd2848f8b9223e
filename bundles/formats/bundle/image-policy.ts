import { parseImageName, repositoryOf } from './image-name.ts';
import { matchImage } from './match-image.ts';

/** Images of these names must carry a cosign signature by one of these keys or certificates (docs/image-signatures.md). */
export type ImagePolicy = {
  readonly name: string;
  /** Patterns of 'host/repository'. */
  readonly match: readonly string[];
  readonly except: readonly string[];
  /** SPKI PEM, as signatureKey writes it; a signature by one of them is enough. */
  readonly keys: readonly string[];
  /** A signature by a certificate of one of these signers is enough, too. */
  readonly certificates?: CertificatePolicy | undefined;
};

export type CertificatePolicy = {
  /** The trusted root of sigstore as canonical JSON: the authorities and logs that certificates, log entries and timestamps are verified with. */
  readonly trustedRoot: string;
  readonly signers: readonly CertificateSigner[];
};

/** A person or pipeline that a certificate is for: `*` in the identity stands for anything without a slash, `**` for anything. */
export type CertificateSigner = { readonly issuer: string; readonly identity: string };

/** Entry of `critical` in bundles with such policies: older agents know keys only. */
export const CERTIFICATES_CRITICAL = 'imageCertificates';

/**
 * Returns the policies that apply to an image. All of them must hold, so that a further policy never weakens another.
 * @param names 'host/repository@sha256:...' of one image; a policy applies when it matches one of them
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

/** A name that cannot be parsed is matched as it is: `**` matches it. */
const comparable = (name: string): string => {
  const image = parseImageName(name);
  return image ? withoutAlias(repositoryOf(image)) : name.replace(/@.*$/, '');
};

const comparablePattern = (pattern: string): string => {
  const slash = pattern.indexOf('/');
  if (slash === -1) return pattern;
  const written = withoutAlias(`${pattern.slice(0, slash).toLowerCase()}${pattern.slice(slash)}`);
  // As in names: without a namespace on Docker Hub it is in library.
  return written.replace(/^docker\.io\/(?!.*(?:\/|\*\*))/, 'docker.io/library/');
};

/** Docker Hub answers under several names, and 443 is the port of a name without one. */
const withoutAlias = (name: string): string =>
  name.replace(/^([^/]*):443(?=\/)/, '$1').replace(/^(?:index|registry-1)\.docker\.io(?=\/)/, 'docker.io');
