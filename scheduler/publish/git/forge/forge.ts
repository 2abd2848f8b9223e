/** The environment variable with the token; GitHub's own is read too, for github.com only. */
export const TOKEN_VARIABLE = 'FLEET_FORGE_TOKEN';

/** A pull request as we need to know it. */
export type PullRequest = {
  readonly number: number;
  /** For people. */
  readonly url: string;
  /** 'closed': without being merged. */
  readonly state: 'open' | 'closed' | 'merged';
  readonly labels: readonly string[];
};

/** The few things that we ask of GitHub or Gitea. */
export type Forge = AsyncDisposable & {
  /** The newest pull request from `head` to `base`. @throws FleetError FORGE_REFUSED, FORGE_UNREACHABLE */
  readonly find: (head: string, base: string) => Promise<PullRequest | undefined>;
  readonly open: (wanted: {
    readonly head: string;
    readonly base: string;
    readonly title: string;
    readonly body: string;
  }) => Promise<PullRequest>;
  readonly addLabels: (number: number, labels: readonly string[]) => Promise<void>;
  readonly close: (number: number) => Promise<void>;
};
