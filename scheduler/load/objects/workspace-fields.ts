import { ADOPTS } from '../../model/adopts.ts';
import type { Limits } from '../../model/limits.ts';
import { parseAddress, type RepositoryAddress } from '../../model/repository-address.ts';
import {
  BAD,
  count,
  fields,
  flag,
  mapped,
  narrowed,
  oneOf,
  optional,
  refuse,
  type Shape,
  shape,
  shortList,
  text,
  textLike,
} from '../../model/yaml/shape.ts';
import { account, hostPath } from './host-fields.ts';

const unitPattern = textLike(
  /^(?!(?:[^*]*\*){4})[A-Za-z0-9:_.@*-]{1,240}$/,
  'is not a pattern of unit names',
  'Write it like label-sync.service or label-*; * stands for any characters',
);

const setPattern = textLike(
  /^(?!(?:[^*]*\*){4})[a-z0-9*](?:[a-z0-9*-]{0,61}[a-z0-9*])?$/,
  'is not a pattern of names of secret sets',
  'Write the name that fleet-scheduler secrets set was given; * stands for any characters',
);

/** Names that a workspace's packages may use besides their own (docs/workspaces.md). */
const hostFields = fields({
  paths: optional(shortList(hostPath), [], 'Paths on hosts, and everything below each.'),
  units: optional(shortList(unitPattern), [], 'Names of systemd units. `*` stands for any characters.'),
  users: optional(shortList(account), [], 'Users and groups that own files and run units.'),
  secretSets: optional(
    shortList(setPattern),
    [],
    'Secret sets of sites, on hosts and in annotated Secrets of clusters. `*` stands for any characters.',
  ),
});

const valuePattern = textLike(
  /^(?!(?:[^*]*\*){4})[A-Za-z0-9_.*-]{1,128}$/,
  'is not a pattern of names of site values',
  'Write the name that siteInputs and fleet-scheduler sites set give it; * stands for any characters',
);

/** Approximates parseAddress for the schema: a URL with a host, or `user@host:path`. */
const USER = '(?:\\w[\\w.-]*@)?';
const SEGMENT = '(?!\\.{1,2}(?:/|$)|-)[^\\s?#\\\\/]+';
const URL_ADDRESS = `(?:(?:https?|git|oci)://|ssh://${USER})(?:[A-Za-z0-9][A-Za-z0-9.-]*|\\[[0-9a-f:]+\\])(?::[0-9]+)?(?:/${SEGMENT})*`;
const SCP_ADDRESS = `${USER}[A-Za-z0-9][A-Za-z0-9.-]+:${SEGMENT}(?:/${SEGMENT})*`;
const ADDRESS = `^(?:${URL_ADDRESS}|${SCP_ADDRESS})/*$`;

const repositoryPrefix: Shape<RepositoryAddress> = shape(
  { ...text.schema, pattern: ADDRESS },
  (node, path, reading) => {
    const value = text(node, path, reading);
    if (value === BAD) return BAD;
    return (
      parseAddress(value) ??
      refuse(
        reading,
        node,
        `${path} ${JSON.stringify(value)} is not the address of a repository or of an owner of repositories`,
        'Write it like https://git.example/team/ or git@git.example:team/, without a password',
      )
    );
  },
);

const limit = narrowed(count, { exclusiveMinimum: 0 }, (value, node, path, reading) =>
  value === 0 ? refuse(reading, node, `${path} must be at least 1`) : value,
);

const limitTable = fields({
  fileBytes: optional(limit, undefined, 'Bytes of one file of its repositories. Default 67108864.'),
  assignmentBytes: optional(
    limit,
    undefined,
    'Bytes of all files that one deployment target is made of. Default 268435456.',
  ),
  workspaceBytes: optional(
    limit,
    undefined,
    'Bytes of all files of all deployment targets in one environment. Default 1073741824.',
  ),
  manifestBytes: optional(limit, undefined, 'Bytes of the YAML of one deployment target. Default 16777216.'),
  manifestValues: optional(limit, undefined, 'Values in that YAML. Default 500000.'),
  manifestObjects: optional(limit, undefined, 'Documents in that YAML. Default 10000.'),
  packageSeconds: optional(
    limit,
    undefined,
    'Seconds that the checks of one package, and the starts and stops of its services, may take on a host together. Default 1800.',
  ),
  workspaceSeconds: optional(
    limit,
    undefined,
    'The same for all packages of the workspace on one cluster type together. Default 7200.',
  ),
});

const limitFields: Shape<Partial<Limits>> = mapped(limitTable, (read) =>
  Object.fromEntries(Object.entries(read).filter(([, value]) => value !== undefined)),
);

/** The spec of a Workspace: what the platform grants one team beyond the defaults. */
export const workspaceFields = fields({
  host: optional(
    hostFields,
    { paths: [], units: [], users: [], secretSets: [] },
    'Names and paths that its packages may use on hosts besides their own.',
  ),
  repositories: optional(
    shortList(repositoryPrefix),
    undefined,
    'Repositories, or owners of repositories, that its applications may name; for charts that other reconcilers fetch, also `oci://` addresses. Without it those of the same owner as the registered one.',
  ),
  siteValues: optional(
    shortList(valuePattern),
    [],
    'Site values that the `siteInputs` of its applications may read. `*` stands for any characters.',
  ),
  adopt: optional(
    oneOf(...ADOPTS),
    undefined,
    'Which objects that exist on a cluster without an owner of the fleet its packages may take over. Default: as the cluster type has it.',
  ),
  critical: optional(
    flag,
    false,
    'Its deployment targets may be `critical`, which holds the packages of every team back when they fail.',
  ),
  limits: optional(
    limitFields,
    undefined,
    'Limits on what its applications cost the scheduler and the hosts.',
  ),
});
