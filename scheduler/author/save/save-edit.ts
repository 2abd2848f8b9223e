import { FleetError, type Place } from '#bundles/errors';
import type { RegistryOptions } from '#bundles/transport/registry/registry';
import { authoredBy, type CommitIdentity } from '../../deliver/git/commit-identity.ts';
import { code, type CommitText } from '../../deliver/git/commit-text.ts';
import { type BranchDelivery, deliverBranch } from '../../deliver/git/deliver-branch.ts';
import { lastChange } from '../../deliver/git/last-change.ts';
import { planFiles } from '../../deliver/git/plan-changes.ts';
import { proposeEdit } from '../../deliver/git/propose-edit.ts';
import { defaultBranch } from '../../load/sources/git-repository.ts';
import { type Git, withoutRepository } from '../../load/sources/run-git.ts';
import type { Revision } from '../../model/location.ts';
import { isCommit } from '../../model/location.ts';
import { redactUrl } from '../../model/repository-url.ts';
import type { PlannedEdit } from '../place/plan-edit.ts';
import { writeFiles } from './write-files.ts';

export type SaveOptions = {
  readonly cacheDirectory: string;
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
  /** `--forge`. The token is in the environment. */
  readonly forge: string | undefined;
  readonly connection: RegistryOptions;
  readonly identity: CommitIdentity;
  readonly now: Date;
  /** The editor, in the commit and as its author. */
  readonly person: string;
  readonly reason: string | undefined;
  /** On a branch of its own, as a pull request where a token is given, instead of a commit to the branch. */
  readonly pullRequest: boolean;
};

export type SavedEdit = {
  /** 'written': into a directory */
  readonly outcome: 'written' | 'pushed' | 'proposed' | 'unchanged';
  /** Repository and branch, or the directory. */
  readonly place: string;
  readonly files: readonly string[];
  readonly commit: string | undefined;
  /** Branch of the proposal. */
  readonly proposal: string | undefined;
  /** Address of the pull request. */
  readonly pullRequest: string | undefined;
};

/**
 * Writes a checked edit where the platform is: into its directory, or as a commit or proposal in its repository.
 * @throws FleetError EDIT_CONFLICT if a file was changed meanwhile; USAGE for a pull request for a directory, or a platform that is a
 *   tag or commit; GIT_REFUSED, SOURCE_UNREACHABLE, FORGE_REFUSED, FORGE_UNREACHABLE, BUSY
 */
export const saveEdit = async (edit: PlannedEdit, options: SaveOptions): Promise<SavedEdit> => {
  const { location, files } = edit;
  const paths = files.map(({ path }) => path);
  const none = { commit: undefined, proposal: undefined, pullRequest: undefined };
  if (location.kind === 'directory') {
    if (options.pullRequest)
      throw new FleetError('USAGE', `${location.shown} is a directory, which has no pull requests`, {
        subject: location.shown,
        hint: 'Give the repository with --platform <git URL>#<branch>, or commit the files yourself',
      });
    await writeFiles(location.directory, files, `${location.shown.replace(/\/+$/, '')}/`);
    const outcome = files.length === 0 ? 'unchanged' : 'written';
    return { outcome, place: location.shown, files: paths, ...none };
  }
  const { repo, revision } = location;
  const git: Git = { env: withoutRepository(options.env), signal: options.signal };
  const branch = await branchOf(git, repo, revision);
  const place = `${redactUrl(repo)}#${branch}`;
  if (files.length === 0) return { outcome: 'unchanged', place, files: [], ...none };
  const delivery: BranchDelivery = {
    git,
    cacheDirectory: options.cacheDirectory,
    repo,
    branch,
    environment: undefined,
    plan: (before) => planFiles(before, files),
    words: () => wordsOf(edit, options),
    labels: () => [],
    identity: authoredBy(options.identity, options.person),
    now: options.now,
  };
  try {
    if (!options.pullRequest) {
      const { outcome, commit } = await deliverBranch(delivery);
      return { ...none, outcome: outcome === 'pushed' ? 'pushed' : 'unchanged', place, files: paths, commit };
    }
    const { chooseForge } = await import('../../deliver/git/forge/choose-forge.ts');
    const { forge: kind, env, connection, signal } = options;
    await using forge = chooseForge(repo, { forge: kind, env, connection, signal });
    const { outcome, proposal, pullRequest } = await proposeEdit(delivery, forge);
    return {
      outcome: outcome === 'proposed' ? 'proposed' : 'unchanged',
      place,
      files: paths,
      commit: undefined,
      proposal,
      pullRequest: pullRequest?.url,
    };
  } catch (error) {
    if (!(error instanceof FleetError) || error.code !== 'BUSY') throw error;
    const changed = paths.find((path) => error.message.startsWith(`${path} was changed`));
    throw changed === undefined
      ? error
      : await conflictOf(delivery, changed, { file: `${place}:${changed}` });
  }
};

/** The refusal of an edit of a file that somebody else has changed, with who and what. */
export const conflictOf = async (
  place: Pick<BranchDelivery, 'git' | 'repo' | 'branch' | 'cacheDirectory'>,
  file: string,
  at: Place,
): Promise<FleetError> => {
  const last = await lastChange(place, file).catch(() => undefined);
  const who = last
    ? `${last.author} changed it meanwhile, at ${last.at}: ${last.title} (${last.commit.slice(0, 12)})`
    : 'it was changed meanwhile';
  return new FleetError('EDIT_CONFLICT', who, {
    at,
    hint: 'Look at the file again, and make the change on top of theirs',
  });
};

/** The branch that a platform is read from. @throws FleetError USAGE, SOURCE_MISSING */
export const branchOf = async (git: Git, repo: string, revision: Revision): Promise<string> => {
  if (revision.kind === 'commit' || (revision.kind === 'any' && isCommit(revision.name)))
    throw new FleetError('USAGE', 'the platform is read at a commit, which cannot be edited', {
      subject: redactUrl(repo),
      hint: 'Name the branch with #<branch>',
    });
  if (revision.kind !== 'head') return revision.name;
  const name = await defaultBranch(git, repo);
  if (name !== undefined) return name;
  throw new FleetError('SOURCE_MISSING', `${redactUrl(repo)} has no default branch`, {
    subject: redactUrl(repo),
    hint: 'Name one with #<branch>',
  });
};

/** Titles are for people: 'Create ClusterType press'. */
const wordsOf = ({ subject, outcome, files }: PlannedEdit, { person, reason }: SaveOptions): CommitText => ({
  title: `${outcome === 'created' ? 'Create' : 'Change'} ${subject}`.slice(0, 72),
  body: [
    `Edited by ${code(person)}${reason === undefined || reason.trim() === '' ? '.' : `: ${code(reason.trim())}`}`,
    files.map(({ path }) => `- ${code(path)}`).join('\n'),
  ].join('\n\n'),
});
