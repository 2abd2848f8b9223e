import { createHash } from 'node:crypto';
import type { Candidate } from '#bundles/formats/candidate';
import { parseImageName, repositoryOf } from '#bundles/formats/bundle/image-name';
import { type Digest, shortDigest } from '#bundles/digest';
import type { PromotionPredicate } from '#bundles/formats/statements/predicates';
import { formatSeconds } from '../../model/format-seconds.ts';
import type { PromotionPolicy } from '../../model/promotion.ts';
import { policyDigest } from '../../release/chain/policy-digest.ts';
import { CLUSTERS } from './cluster-folder.ts';
import { code, type CommitText } from './commit-text.ts';
import type { Changes } from './plan-changes.ts';

/** Text of a proposal about the promotion that it delivers. */
export type PromotionStory = {
  readonly statement: PromotionPredicate;
  readonly candidate: Digest;
  /** The policy of the link as it is now. */
  readonly policy: PromotionPolicy | undefined;
  readonly document: Candidate;
  /** The candidate that was promoted before, if it is known. */
  readonly before: Candidate | undefined;
};

/** Names a promotion in branches: 12 hex digits of a hash. A rollback to a candidate has the name of its first promotion. */
export const promotionName = ({ to, shared }: Pick<PromotionPredicate, 'to' | 'shared'>): string =>
  createHash('sha256').update(`promotion ${to}\0${shared}`).digest('hex').slice(0, 12);

const MAX_LINES = 50;

/** @param tree what the proposal says of the tree itself */
export const promotionText = (story: PromotionStory, changes: Changes, tree: string): CommitText => {
  const { statement, candidate } = story;
  const { from, to, number, person, mode, reason, time } = statement;
  const who = person === null ? `the policy (${mode})` : code(person);
  const why = reason === null ? '' : `: ${code(reason)}`;
  return {
    title: `Promote ${shortDigest(candidate)} from ${from} to ${to}`,
    body: [
      `Promotion ${number} from ${from} to ${to}, decided by ${who} at ${time}${why}.`,
      `Candidate: ${candidate}`,
      ...section('Conditions of the link', conditionsOf(story)),
      ...section('Packages', packagesIn(changes)),
      ...section('Versions', changedVersions(story)),
      tree,
    ].join('\n\n'),
  };
};

const section = (title: string, lines: readonly string[]): readonly string[] => {
  if (lines.length === 0) return [];
  const more = lines.length > MAX_LINES ? [`and ${lines.length - MAX_LINES} more`] : [];
  return [[title, ...[...lines.slice(0, MAX_LINES), ...more].map((line) => `- ${line}`)].join('\n')];
};

const conditionsOf = ({
  statement: { policy: digest, approvals },
  policy,
}: PromotionStory): readonly string[] => {
  if (digest === null) return ['none: the link has no policy, or this is a rollback'];
  if (!policy) return ['the policy of then was removed'];
  if (policyDigest(policy) !== digest) return [`the policy ${policy.name} was changed since`];
  const { compliance, soakSeconds, freshnessSeconds, approvals: wanted, checks } = policy;
  const agents = compliance && (compliance.of === 'reported' ? 'agents that reported' : 'enrolled agents');
  return [
    ...(compliance?.percent === undefined ? [] : [`compliance of ${compliance.percent} % of the ${agents}`]),
    ...(compliance?.atLeast === undefined ? [] : [`compliance of at least ${compliance.atLeast} agents`]),
    ...(soakSeconds > 0 ? [`soak ${formatSeconds(soakSeconds)}`] : []),
    ...(freshnessSeconds === undefined ? [] : [`reports not older than ${formatSeconds(freshnessSeconds)}`]),
    ...(wanted ? [`approvals ${approvals.length} of ${wanted.required}`] : []),
    ...checks.map(({ name }) => `check ${name}`),
  ];
};

/** '<cluster type>/<target>' of the changed packages. Paths are git's bytes. */
const packagesIn = ({ written, removed }: Changes): readonly string[] => {
  const folderOf = (path: string): string[] => {
    const [type = '', target, file] = Buffer.from(path, 'latin1').toString('utf8').split('/');
    if (file === undefined || type.startsWith('.')) return [];
    return type === CLUSTERS ? [`${type}/${target}/${file}`] : [`${type}/${target}`];
  };
  const changed = new Set(written.flatMap(({ path }) => folderOf(path)));
  const gone = new Set(removed.flatMap(folderOf).filter((folder) => !changed.has(folder)));
  return [...changed, ...[...gone].map((folder) => `${folder} (removed or smaller)`)].toSorted();
};

/** Images, charts and commits of applications that differ from the earlier promotion. */
const changedVersions = ({ document, before }: PromotionStory): readonly string[] => {
  if (!before) return [];
  const [old, now] = [versionsOf(before), versionsOf(document)];
  return [...new Set([...old.keys(), ...now.keys()])].toSorted().flatMap((name) => {
    const [was, is] = [old.get(name), now.get(name)];
    return was === is ? [] : [`${code(name)} ${was ?? 'not there'} -> ${is ?? 'not there'}`];
  });
};

const versionsOf = ({ images, charts, sources }: Candidate): ReadonlyMap<string, string> => {
  const found: [string, string][] = [
    ...images.map(({ name, digest }): [string, string] => {
      const image = parseImageName(name);
      const short = shortDigest(digest);
      return image
        ? [repositoryOf(image), image.tag === undefined ? short : `${image.tag} (${short})`]
        : [name, short];
    }),
    ...charts.map(({ name, version, digest }): [string, string] => [name, version ?? shortDigest(digest)]),
    ...sources.flatMap(({ role, commit }): [string, string][] =>
      role.startsWith('application/') && commit !== undefined ? [[role, commit.slice(0, 12)]] : [],
    ),
  ];
  const versions = new Map<string, string>();
  for (const [name, version] of found)
    versions.set(
      name,
      [...new Set([...(versions.get(name)?.split(', ') ?? []), version])].toSorted().join(', '),
    );
  return versions;
};
