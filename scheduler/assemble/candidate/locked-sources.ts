import { defined } from '#bundles/defined';
import { shortDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { CandidateSource } from '#bundles/formats/statements/predicates';
import { layerRole } from '../../model/images/layer-role.ts';
import { type Location, refName } from '../../model/location.ts';
import { cleanPath, type SourceRequest, type Sources } from '../../load/sources/open-sources.ts';
import { redactUrl, repositoryKey } from '../../model/repository-url.ts';
import { type GivenCandidate, isOwn } from './given-candidate.ts';

/**
 * Repositories at the commits of a candidate; branches are not resolved. For another environment than the candidate's, the
 * layer of that environment is read as it is now. Directories are read as they are, and `checkSources` compares their content.
 * @param elsewhere for another environment than the candidate's: where to read what the candidate does not name; by default as it
 *   is now
 */
export const lockedSources = (
  sources: Sources,
  given: GivenCandidate,
  environment: string,
  elsewhere: (request: SourceRequest) => Location = ({ location }) => location,
): Sources => {
  const promoted = !isOwn(given, environment);
  const own = layerRole(environment);
  return {
    ...sources,
    // A promoted candidate has its layer at another commit than the other sources.
    apart: true,
    read: async (request) => {
      if (promoted && request.role === own) return await sources.read(request);
      const known = find(given, request, promoted);
      if (known) return await sources.read({ ...request, location: pin(request, known, given) });
      if (promoted) return await sources.read({ ...request, location: elsewhere(request) });
      throw unlisted(request, given);
    },
  };
};

/** The layer of another environment is not used for this one. */
const find = (
  { document }: GivenCandidate,
  request: SourceRequest,
  promoted: boolean,
): CandidateSource | undefined => {
  const named = document.sources.filter(({ role }) => role === request.role);
  const path = cleanPath(request.path);
  const known = named.find((one) => one.path === path) ?? named[0];
  if (known || !promoted || request.location.kind !== 'git') return known;
  // A target of this environment only: its files are read at the commit recorded for its repository.
  const { repo, revision } = request.location;
  const key = repositoryKey(redactUrl(repo));
  return document.sources.find(
    (one) =>
      /^(?:workload|application)\//.test(one.role) &&
      repositoryKey(one.repo) === key &&
      one.ref === refName(revision),
  );
};

const pin = ({ location, role }: SourceRequest, known: CandidateSource, given: GivenCandidate): Location => {
  // A commit that was asked for stays: `checkSources` compares its content.
  if (location.kind === 'directory' || location.revision.kind === 'commit') return location;
  const { commit, ref } = known;
  if (commit === undefined) {
    throw new FleetError(
      'CANDIDATE_MISMATCH',
      `candidate ${shortDigest(given.digest)} has ${role} from a directory, not from ${redactUrl(location.repo)}`,
      { subject: role, hint: 'Give the directory with --map, or the platform as a directory' },
    );
  }
  return {
    ...location,
    revision: defined({ kind: 'commit', commit, branch: ref }),
  };
};

const unlisted = ({ role }: SourceRequest, { digest }: GivenCandidate): FleetError =>
  new FleetError('CANDIDATE_MISMATCH', `candidate ${shortDigest(digest)} has no ${role}`, {
    subject: role,
    hint: 'A build from a candidate reads nothing else; build without it to include newer sources',
  });
