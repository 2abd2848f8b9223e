import { defined } from '#bundles/defined';
import type { CandidateSource } from '#bundles/formats/statements/predicates';
import type { DeploymentTarget } from '../../model/model.ts';
import { parseDocuments } from '../../model/yaml/parse-documents.ts';

/** Kalypso's DeploymentDescriptor (hub.kalypso.io/v1alpha1): a team's delivery writes it beside the manifests of a target. */
const KIND = 'DeploymentDescriptor';

type Descriptor = {
  readonly apiVersion?: unknown;
  readonly kind?: unknown;
  readonly spec?: {
    readonly deploymentTarget?: { readonly name?: unknown; readonly environment?: unknown } | null;
    readonly workloadVersion?: { readonly version?: unknown; readonly commit?: unknown } | null;
  } | null;
};

type Files = readonly { readonly path: string; readonly bytes: Buffer }[];

/** Whether a file holds descriptors and nothing else. They are for Kalypso's hub, and no object of an application's cluster. */
export const isDescriptorFile = (path: string, bytes: Buffer): boolean => {
  const all = documentsOf(path, bytes);
  return all.length > 0 && all.every(isDescriptor);
};

/**
 * Version of a target from the descriptors among its files: from the one that names the target, or from all if they agree.
 * Unreadable descriptors are ignored, because the version is for people only.
 */
export const describedBy = (
  files: Files,
  { shortName, environment }: Pick<DeploymentTarget, 'shortName' | 'environment'>,
): CandidateSource['described'] => {
  const found = files.flatMap(({ path, bytes }) => documentsOf(path, bytes).filter(isDescriptor));
  const named = found.filter(
    ({ spec }) =>
      spec?.deploymentTarget?.name === shortName && spec.deploymentTarget.environment === environment,
  );
  const versions = (named.length > 0 ? named : found).map(versionOf);
  const [first] = versions;
  return first && versions.every((one) => one?.version === first.version) ? first : undefined;
};

const documentsOf = (path: string, bytes: Buffer): readonly Descriptor[] =>
  /\.ya?ml$/.test(path) && bytes.includes(KIND)
    ? parseDocuments(path, bytes, []).map(
        ({ document }) => (document.toJS({ maxAliasCount: 100 }) ?? {}) as Descriptor,
      )
    : [];

const isDescriptor = ({ apiVersion, kind }: Descriptor): boolean =>
  kind === KIND && typeof apiVersion === 'string' && apiVersion.startsWith('hub.kalypso.io/');

const MAX_VERSION = 128;
const COMMIT = /^[0-9a-f]{40}([0-9a-f]{24})?$/;

const versionOf = ({ spec }: Descriptor): CandidateSource['described'] => {
  const { version, commit } = spec?.workloadVersion ?? {};
  if (typeof version !== 'string' || version === '' || version.length > MAX_VERSION) return undefined;
  return defined({ version, commit: typeof commit === 'string' && COMMIT.test(commit) ? commit : undefined });
};
