import { account, hostPath, textThat } from '../../bundle/host-fields.ts';
import type { Limits } from '../limits.ts';
import { parseAddress, type RepositoryAddress } from '../sources/repository-address.ts';
import { BAD, count, fields, optional, refuse, type Shape, shortList, text } from '../yaml/shape.ts';

const unitPattern = textThat(
  (value) => /^[A-Za-z0-9:_.@*-]{1,240}$/.test(value) && value.split('*').length <= 4,
  'is not a pattern of unit names',
  'Write it like label-sync.service or label-*; * stands for any characters',
);

const setPattern = textThat(
  (value) => /^[a-z0-9*](?:[a-z0-9*-]{0,61}[a-z0-9*])?$/.test(value) && value.split('*').length <= 4,
  'is not a pattern of names of secret sets',
  'Write the name that fleet-scheduler secrets set was given; * stands for any characters',
);

/** What a workspace's packages may name beyond their own: see docs/workspaces.md. */
const hostFields = fields({
  paths: optional(shortList(hostPath), []),
  units: optional(shortList(unitPattern), []),
  users: optional(shortList(account), []),
  secretSets: optional(shortList(setPattern), []),
});

const repositoryPrefix: Shape<RepositoryAddress> = (node, path, reading) => {
  const value = text(node, path, reading);
  if (value === BAD) return BAD;
  return (
    parseAddress(value) ??
    refuse(
      reading,
      node,
      `${path} ${JSON.stringify(value)} is no address of a repository or of an owner of repositories`,
      'Write it like https://git.example/team/ or git@git.example:team/, without a password',
    )
  );
};

const limit: Shape<number> = (node, path, reading) => {
  const value = count(node, path, reading);
  return value === 0 ? refuse(reading, node, `${path} must be at least 1`) : value;
};

const limitFields: Shape<Partial<Limits>> = (node, path, reading) => {
  const read = fields({
    fileBytes: optional(limit, undefined),
    assignmentBytes: optional(limit, undefined),
    workspaceBytes: optional(limit, undefined),
    manifestBytes: optional(limit, undefined),
    manifestValues: optional(limit, undefined),
    manifestObjects: optional(limit, undefined),
  })(node, path, reading);
  if (read === BAD) return BAD;
  return Object.fromEntries(Object.entries(read).filter(([, value]) => value !== undefined));
};

/** A Workspace's spec: what the platform grants one team beyond the defaults. */
export const workspaceFields = fields({
  host: optional(hostFields, { paths: [], units: [], users: [], secretSets: [] }),
  repositories: optional(shortList(repositoryPrefix), undefined),
  limits: optional(limitFields, undefined),
});
