import type { FleetError } from '#bundles/errors';
import { type Location, type Revision, refName } from '../platform/sources/location.ts';
import { redactUrl } from '../platform/sources/repository-url.ts';

/** Something that a build reads: a repository at a revision, or a directory. */
export type Watched = {
  readonly location: Location;
  /** What the last build read: a commit, or a mark of a directory's files; undefined where it could not be read. */
  readonly mark: string | undefined;
};

/** What is known of one source, for people. */
export type RepositoryState = {
  /** URL without credentials, or the directory. */
  readonly repository: string;
  readonly ref: string | undefined;
  readonly commit: string | undefined;
  /** When it was first seen like that, RFC 3339. */
  readonly since: string;
  readonly error: Pick<FleetError, 'code' | 'message'> | undefined;
};

export const nameOf = (location: Location): Pick<RepositoryState, 'repository' | 'ref'> =>
  location.kind === 'directory'
    ? { repository: location.directory, ref: undefined }
    : { repository: redactUrl(location.repo), ref: refOf(location.revision) };

/** One text for one source: what a map is keyed by. */
export const keyOf = (location: Location): string =>
  location.kind === 'directory'
    ? location.directory
    : `${location.repo} ${JSON.stringify(location.revision)}`;

/** A commit without a branch is shown as itself. */
const refOf = (revision: Revision): string | undefined =>
  refName(revision) ?? (revision.kind === 'commit' ? revision.commit : undefined);
