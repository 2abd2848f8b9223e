import { FleetError } from '#bundles/errors';

/** Author and committer of our commits without a configuration. */
export const COMMITTER = 'Fleet Ferry <fleet-ferry@localhost>';

/** Author and committer of our commits, and whether commits are signed. */
export type CommitIdentity = {
  /** 'Name <address>' */
  readonly committer: string;
  /** 'Name <address>' of the person whose change it is; undefined: the committer. */
  readonly author?: string | undefined;
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

/**
 * The identity for a change that a person decided: they are its author, by the address that their name has in it, or else by that of
 * the committer.
 */
export const authoredBy = (identity: CommitIdentity, person: string): CommitIdentity => {
  const [address] = /[^\s<>()@]+@[^\s<>()@]+\.[^\s<>()@]+/.exec(person) ?? [];
  const name = person
    .replaceAll(/[<>\p{Cc}\p{Cf}]/gu, ' ')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/^[ .,:;"']+|[ .,:;"']+$/g, '');
  const own = address ?? /<(.*)>$/.exec(identity.committer)?.[1] ?? '';
  return name === '' ? identity : { ...identity, author: `${name} <${own}>` };
};
