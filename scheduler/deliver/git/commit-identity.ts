import { FleetError } from '#bundles/errors';

/** Author and committer of our commits without a configuration. */
export const COMMITTER = 'Fleet Ferry <fleet-ferry@localhost>';

/** Committer of rendered trees, and whether commits are signed. */
export type CommitIdentity = {
  /** 'Name <address>' */
  readonly committer: string;
  /** Sign with git's own settings: gpg.format, user.signingkey, gpg.ssh.program ... */
  readonly sign: boolean;
};

/** @throws FleetError USAGE */
export const identityOf = ({
  committer,
  signCommits,
}: {
  readonly committer: string | undefined;
  readonly signCommits: boolean;
}): CommitIdentity => ({ committer: parseCommitter(committer), sign: signCommits });

/** @param text 'Name <address>'; undefined: the default @throws FleetError USAGE */
export const parseCommitter = (text: string | undefined): string => {
  if (text === undefined) return COMMITTER;
  if (/^[^<>\p{Cc}]*[^<>\p{Cc} ] <[^<>\s\p{Cc}]+>$/u.test(text) && !text.startsWith(' ')) return text;
  throw new FleetError('USAGE', `${JSON.stringify(text)} is not a committer`, {
    hint: 'Write a name and an address: Fleet Ferry <fleet-ferry@example.com>',
  });
};
