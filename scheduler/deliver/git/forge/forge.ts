/** The environment variable with the token. For github.com, GITHUB_TOKEN is read too. */
export const TOKEN_VARIABLE = 'FLEET_FORGE_TOKEN';

/** The fields of a pull request (GitLab: merge request) that we use. */
export type PullRequest = {
  readonly number: number;
  /** For people. */
  readonly url: string;
  /** 'closed': closed without being merged. */
  readonly state: 'open' | 'closed' | 'merged';
  readonly labels: readonly string[];
};

/** A status on a commit, shown beside it. A later one with the same context replaces it. */
export type CommitStatus = {
  /** Full hash. */
  readonly commit: string;
  /** 'fleet-ferry/qa' */
  readonly context: string;
  readonly state: 'pending' | 'success' | 'failure';
  readonly description: string;
  /** Page with more about it. */
  readonly url?: string | undefined;
};

/** The operations that we use of a forge, for one repository. @throws FleetError FORGE_REFUSED, FORGE_UNREACHABLE */
export type Forge = AsyncDisposable & {
  /** The newest pull request from `head` to `base`, without pull requests from forks. */
  readonly find: (head: string, base: string) => Promise<PullRequest | undefined>;
  readonly open: (wanted: {
    readonly head: string;
    readonly base: string;
    readonly title: string;
    readonly body: string;
  }) => Promise<PullRequest>;
  readonly edit: (number: number, words: { readonly title: string; readonly body: string }) => Promise<void>;
  readonly addLabels: (number: number, labels: readonly string[]) => Promise<void>;
  readonly close: (number: number) => Promise<void>;
  /** @throws FleetError FORGE_REFUSED, for example if the repository has no such commit; FORGE_UNREACHABLE */
  readonly setCommitStatus: (status: CommitStatus) => Promise<void>;
};
