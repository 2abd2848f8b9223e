import { shortDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { SourceRequest, Sources } from '../../load/sources/open-sources.ts';
import { isCommit, type Location, refName, type Revision } from '../../model/location.ts';
import { redactUrl } from '../../model/repository-url.ts';
import type { GivenCandidate } from './given-candidate.ts';
import { lockedSources } from './locked-sources.ts';

/**
 * As lockedSources, for an environment of the chain: besides its own layer it gets only what was promoted. A repository and branch
 * that the candidate does not name is refused, unless a whole commit id is asked for: its content cannot change.
 * `read` rejects with NOT_PROMOTED.
 */
export const promotedSources = (sources: Sources, given: GivenCandidate, environment: string): Sources =>
  lockedSources(sources, given, environment, (request) => atCommit(request, given, environment));

/** @throws FleetError NOT_PROMOTED */
const atCommit = ({ location }: SourceRequest, given: GivenCandidate, environment: string): Location => {
  const commit = location.kind === 'git' ? commitOf(location.revision) : undefined;
  if (location.kind === 'git' && commit !== undefined)
    return { ...location, revision: { kind: 'commit', commit } };
  throw unpromoted(location, given, environment);
};

/** A branch or tag that is named like a commit is never asked for. */
const commitOf = (revision: Revision): string | undefined => {
  if (revision.kind === 'commit') return revision.commit;
  return revision.kind === 'any' && isCommit(revision.name) ? revision.name : undefined;
};

const unpromoted = (
  location: Location,
  { document, digest }: GivenCandidate,
  environment: string,
): FleetError => {
  const branch = location.kind === 'git' ? refName(location.revision) : undefined;
  const shown = location.kind === 'git' ? redactUrl(location.repo) : location.shown;
  const at = branch === undefined ? '' : ` at ${branch}`;
  const from = document.environment ?? 'the environment before';
  return new FleetError(
    'NOT_PROMOTED',
    `${shown}${at} is not among the sources of the promoted candidate ${shortDigest(digest)}, so nothing of it was promoted to ${environment}`,
    {
      hint:
        location.kind === 'git'
          ? `Give manifests a ref with a whole commit id, or let a deployment target of ${from} read the same repository and branch, and promote again`
          : `Keep it in Git, in a repository that ${from} reads: a directory has no history to promote from`,
    },
  );
};
