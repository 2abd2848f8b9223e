import type { FleetError } from '#bundles/errors';
import { type Location, type Revision, refName } from '../../model/location.ts';
import { redactUrl } from '../../model/repository-url.ts';

/** A source that a build reads: a repository at a revision, or a directory. */
export type Watched = {
  readonly location: Location;
  /** State that the last build read: a commit, or a digest of the directory's files; undefined if it could not be read. */
  readonly mark: string | undefined;
};

/** The state of one source, for people. */
export type RepositoryState = {
  /** URL without credentials, or the directory. */
  readonly repository: string;
  readonly ref: string | undefined;
  readonly commit: string | undefined;
  /** When this state was first seen, RFC 3339. */
  readonly since: string;
  readonly error: Pick<FleetError, 'code' | 'message'> | undefined;
};

export const nameOf = (location: Location): Pick<RepositoryState, 'repository' | 'ref'> =>
  location.kind === 'directory'
    ? { repository: location.directory, ref: undefined }
    : { repository: redactUrl(location.repo), ref: refOf(location.revision) };

/** A unique map key for a source. */
export const keyOf = (location: Location): string =>
  location.kind === 'directory'
    ? location.directory
    : `${location.repo} ${JSON.stringify(location.revision)}`;

/** The name of the ref; for a pinned commit, the commit. */
const refOf = (revision: Revision): string | undefined =>
  refName(revision) ?? (revision.kind === 'commit' ? revision.commit : undefined);
