import { FleetError } from '#bundles/errors';
import { checkRef } from '../../model/location.ts';
import { isRepositoryUrl, redactUrl } from '../../model/repository-url.ts';
import { looksLikeRegistry } from '../send/looks-like-registry.ts';

/** Destination of rendered trees. */
export type TreeTarget =
  /** A branch of a repository; default: the branch named like the environment. */
  | { readonly kind: 'git'; readonly repo: string; readonly branch: string | undefined }
  /** The environment's own GitOpsRepo. */
  | { readonly kind: 'gitops' }
  /** A folder per environment in this directory. */
  | { readonly kind: 'directory'; readonly directory: string };

const GIT = 'git+';

/** Whether a text begins like the URL of a tree destination. */
export const isTreeTarget = (text: string): boolean => text.startsWith(GIT);

/**
 * Parses 'git+<URL>[#branch]', 'gitops', or a directory. @throws FleetError USAGE
 */
export const parseTreeTarget = (text: string): TreeTarget => {
  if (text === 'gitops') return { kind: 'gitops' };
  if (text.startsWith(GIT)) {
    const [repo = '', ...rest] = text.slice(GIT.length).split('#');
    if (!isRepositoryUrl(repo)) throw noTarget(text, 'Write it like git+https://git.example/gitops#dev');
    const branch = rest.join('#');
    return { kind: 'git', repo, branch: branch === '' ? undefined : checkRef(branch, 'USAGE') };
  }
  if (text.startsWith('oci://'))
    throw noTarget(text, 'A registry accepts signed releases: give it as the destination, without --to');
  if (isRepositoryUrl(text)) throw noTarget(text, `Write ${GIT}${redactUrl(text)}`);
  if (text === '' || looksLikeRegistry(text))
    throw noTarget(text, `Write ./${text} for a folder of this name`);
  return { kind: 'directory', directory: text };
};

const noTarget = (text: string, hint: string): FleetError =>
  new FleetError('USAGE', `${JSON.stringify(redactUrl(text))} is not a destination for a rendered tree`, {
    hint,
  });
