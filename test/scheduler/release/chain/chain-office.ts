import { join } from 'node:path';
import type { Candidate } from '../../../../bundles/formats/candidate.ts';
import { compareBytes, digestOf } from '../../../../bundles/digest.ts';
import { openLayout } from '../../../../bundles/formats/layout/layout.ts';
import { PREDICATES } from '../../../../bundles/media-types.ts';
import { channelsIn } from '../../../../bundles/transport/publish/choose-pointers.ts';
import { formatTime } from '../../../../bundles/time.ts';
import { parseChannel } from '../../../../bundles/names.ts';
import { signPayload } from '../../../../bundles/trust/statements/sign-payload.ts';
import { encodeStatement } from '../../../../bundles/trust/statements/verify-statement.ts';
import type {
  BundlePredicate,
  PromotionPredicate,
} from '../../../../bundles/formats/statements/predicates.ts';
import { readCandidate } from '../../../../scheduler/assemble/candidate/read-candidate.ts';
import { sharedDigest } from '../../../../scheduler/assemble/candidate/shared-digest.ts';
import { type KeyDirectory, openKeyDirectory } from '../../../../scheduler/keys/key-directory.ts';
import { promotedTo, readAuditLog } from '../../../../scheduler/load/releases/audit-log.ts';
import { lineagesOf } from '../../../../scheduler/load/releases/check-promoted.ts';
import { withNewestStatement } from '../../../../scheduler/load/releases/newest-statement.ts';
import { readRelease } from '../../../../scheduler/load/releases/read-release.ts';
import { cleanPath, type Sources } from '../../../../scheduler/load/sources/open-sources.ts';
import { treeDigest } from '../../../../scheduler/load/sources/tree-digest.ts';
import { appendEntry } from '../../../../scheduler/release/audit/append-entry.ts';
import { signDecision } from '../../../../scheduler/release/audit/decide.ts';
import type { BuildOptions } from '../../../../scheduler/build/build-options.ts';
import type { BuildOutcome } from '../../../../scheduler/build/build-outcome.ts';
import { build } from '../../../../scheduler/build/build.ts';
import { openReleases } from '../../../../scheduler/release/write/open-releases.ts';
import { rollbackRelease } from '../../../../scheduler/release/reissue/rollback-release.ts';
import { type FolderTemplate, readTemplate, writeTemplate } from '../../../harness/fleets/folder-template.ts';
import { NOW, writeDevKeys } from '../../dev-keys.ts';
import { temporaryDirectory } from '../../file-tree.ts';
import { ours } from '../../fleet-platform.ts';

type Files = Readonly<Record<string, string>>;

export { NOW };

const REPO = 'https://git.example/halden/platform';
/** The first commit. */
const FIRST = digestOf('0').slice(7);
const NEVER = new AbortController().signal;

const config = (value: string): string => ours('Config', 'level', `spec:\n  values: {LEVEL: "${value}"}\n`);

const CHAIN =
  'spec:\n  environments:\n    - {name: dev}\n    - {name: qa, promotedFrom: dev}\n    - {name: prod, promotedFrom: qa}\n';

/** One application on one cluster type, in three environments, all in one repository. */
export const FILES: Files = {
  'fleet.yaml': ours('Fleet', 'halden', CHAIN),
  'base/press.yaml': ours('ClusterType', 'press', 'spec: {}\n'),
  'base/all.yaml': ours(
    'SchedulingPolicy',
    'all',
    'spec:\n  deploymentTargetSelector: {}\n  clusterTypeSelector: {}\n',
  ),
  'base/shop.yaml': ours(
    'WorkloadRegistration',
    'shop',
    'spec:\n  workspace: sales\n  workload: {repo: ., path: apps/shop/deploy}\n',
  ),
  'base/level.yaml': config('base-0'),
  ...Object.fromEntries(
    ['dev', 'qa', 'prod'].map((name) => [
      `environments/${name}/own.yaml`,
      ours('Config', 'own', `spec:\n  values: {OWN: "${name}-0"}\n`),
    ]),
  ),
  'apps/shop/deploy/workload.yaml': ours(
    'Workload',
    'shop',
    `spec:\n  deploymentTargets:\n${['dev', 'qa', 'prod']
      .map((name) => `    - {name: web, environment: ${name}, manifests: {path: apps/shop/web}}\n`)
      .join('')}`,
  ),
  'apps/shop/web/web.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {a: b}\n',
};

type Commit = { readonly id: string; readonly files: Files };

/** A repository in memory: every commit keeps its files. */
const memorySources = (commits: readonly Commit[], shownAs: string): Sources => ({
  locate: (repo, revision) => ({ kind: 'git', repo, revision }),
  read: async ({ role, location, path: asked, wanted = () => true, which = 'yaml' }) => {
    if (location.kind !== 'git') throw new Error('only Git here');
    const { revision } = location;
    const id = revision.kind === 'commit' ? revision.commit : commits.at(-1)?.id;
    const files = commits.find((one) => one.id === id)?.files ?? {};
    const path = cleanPath(asked);
    const within = path === '.' ? '' : `${path}/`;
    const read = Object.entries(files)
      .filter(([file]) => file.startsWith(within) && (which === 'all' || file.endsWith('.yaml')))
      .map(([file, text]) => ({ path: file.slice(within.length), bytes: Buffer.from(text) }))
      .filter((file) => wanted(file.path))
      .toSorted((a, b) => compareBytes(a.path, b.path));
    const snapshot = { role, repo: shownAs, ref: 'main', path, tree: treeDigest(read), directory: '/none' };
    return { snapshot: { ...snapshot, commit: id ?? '' }, files: read, location, prefix: within };
  },
});

export type ReleasedBundle = Pick<BundlePredicate, 'shared' | 'promoted'> & {
  readonly channel: string;
  readonly number: number;
};

export type ChainOffice = {
  /** Holds the folders keys and out, the layout. */
  readonly folder: string;
  readonly layout: string;
  readonly keys: KeyDirectory;
  /** Of the repository, oldest first. */
  readonly commits: readonly Commit[];
  readonly commit: (change: Files) => void;
  readonly config: (file: string, value: string) => void;
  readonly build: (options?: Partial<BuildOptions>) => Promise<BuildOutcome>;
  /** Promotes what is released in an environment to another one, and nothing else: the gate is not asked. */
  readonly promote: (from: string, to: string, change?: Partial<PromotionPredicate>) => Promise<void>;
  /** Rejects what is promoted to an environment. */
  readonly reject: (environment: string, reason: string) => Promise<void>;
  /** The newest state of the repository, for other verbs than build. */
  readonly platform: Pick<BuildOptions, 'platform' | 'maps' | 'cacheDirectory' | 'sources' | 'env'>;
  readonly rollback: (environment: string, to: number) => Promise<void>;
  /** What the current releases say. */
  readonly released: (environment: string) => Promise<ReleasedBundle | undefined>;
  readonly candidateOf: (
    environment: string,
  ) => Promise<{ digest: Candidate['parent']; document: Candidate }>;
};

export const openChainOffice = async (
  files: Files = FILES,
  keysFor?: (directory: KeyDirectory) => KeyDirectory,
  { repo, first }: { readonly repo: string; readonly first: string } = {
    repo: REPO,
    first: FIRST,
  },
): Promise<ChainOffice> => {
  const folder = await temporaryDirectory();
  await writeDevKeys(folder);
  return await openFolder(folder, [{ id: first, files }], { repo, keysFor });
};

/** Offices in which something was done already: done once for each process, then copied. */
export const officesAfter = (
  work: (office: ChainOffice) => Promise<unknown>,
  files: Files = FILES,
): (() => Promise<ChainOffice>) => {
  let made: Promise<readonly [FolderTemplate, readonly Commit[]]> | undefined;
  const make = async () => {
    const office = await openChainOffice(files);
    await work(office);
    return [await readTemplate(office.folder), office.commits] as const;
  };
  return async () => {
    const [template, commits] = await (made ??= make());
    const folder = await temporaryDirectory();
    writeTemplate(template, folder);
    return await openFolder(folder, [...commits], { repo: REPO });
  };
};

/** An office as `openChainOffice` opens it, after its first build. */
export const openBuiltOffice = officesAfter((office) => office.build());

const openFolder = async (
  folder: string,
  commits: Commit[],
  { repo, keysFor }: { readonly repo: string; readonly keysFor?: Parameters<typeof openChainOffice>[1] },
): Promise<ChainOffice> => {
  const layout = join(folder, 'out');
  const opened = await openKeyDirectory(join(folder, 'keys'));
  const keys = keysFor ? keysFor(opened) : opened;
  const commit = (change: Files): void => {
    const before = commits.at(-1)?.files ?? {};
    commits.push({ id: digestOf(String(commits.length)).slice(7), files: { ...before, ...change } });
  };
  const candidateOf: ChainOffice['candidateOf'] = async (environment) => {
    const at = await openLayout(layout);
    const channel = { environment, clusterType: 'press' };
    const release = await readRelease(at, channel, keys.roots);
    const [said] = release ? await lineagesOf(at, await withNewestStatement(at, release)) : [];
    if (!said) throw new Error(`${environment} has no release`);
    return await readCandidate(said.candidate, [at.blobs], NEVER);
  };
  const platform = {
    platform: `${repo}#main`,
    maps: [],
    cacheDirectory: join(folder, 'cache'),
    sources: memorySources(commits, repo),
    env: {},
  };
  return {
    folder,
    layout,
    keys,
    platform,
    commits,
    commit,
    config: (file, value) => commit({ [file]: config(value) }),
    candidateOf,
    build: async (options = {}) =>
      build({
        ...platform,
        layout,
        keys,
        workers: 1,
        now: NOW,
        signal: NEVER,
        ...options,
      }),
    promote: async (from, to, change = {}) => {
      const { digest, document } = await candidateOf(from);
      const at = await openLayout(layout);
      const last = promotedTo(await readAuditLog(at, keys.roots), to);
      const predicate: PromotionPredicate = {
        fleet: 'halden',
        from,
        to,
        number: (last?.number ?? 0) + 1,
        shared: sharedDigest(document),
        mode: 'manual',
        person: 'ada',
        reason: null,
        policy: null,
        verdict: null,
        approvals: [],
        previous: last?.payload ?? null,
        time: formatTime(NOW),
        critical: [],
        ...change,
      };
      const payload = encodeStatement(
        [{ name: 'candidate', digest: digest ?? '' }] as never,
        PREDICATES.promotion,
        predicate,
      );
      const statement = await signPayload(payload, await keys.key('release'));
      using releases = await openReleases(layout, { command: 'promote', now: NOW });
      await appendEntry(releases, keys, { kind: 'promotion', statement }, NOW);
    },
    reject: async (environment, reason) => {
      const last = promotedTo(await readAuditLog(await openLayout(layout), keys.roots), environment);
      const common = { fleet: 'halden', environment, person: 'ada', time: formatTime(NOW), critical: [] };
      const statement = await signDecision(
        last?.candidate,
        { ...common, decision: 'reject', reason, ...(last && { shared: last.shared }) },
        await keys.key('audit'),
      );
      using releases = await openReleases(layout, { command: 'reject', now: NOW });
      await appendEntry(releases, keys, { kind: 'decision', statement }, NOW);
    },
    rollback: async (environment, to) => {
      using releases = await openReleases(layout, { command: 'rollback', now: NOW });
      const channel = { environment, clusterType: 'press' };
      const { references } = await rollbackRelease(await releases.open(), keys, { channel, to, now: NOW });
      await releases.point(references);
    },
    released: async (environment) => {
      const at = await openLayout(layout);
      const name = channelsIn(at).find((one) => one.startsWith(`${environment}/`));
      if (name === undefined) return undefined;
      const release = await readRelease(at, parseChannel(name), keys.roots);
      const [said] = release ? await lineagesOf(at, await withNewestStatement(at, release)) : [];
      if (!release || !said) return undefined;
      const { shared, promoted } = said;
      return {
        channel: name,
        number: release.predicate.version,
        ...(shared && { shared }),
        ...(promoted && { promoted }),
      };
    },
  };
};

/** 'qa/press released 2' for each channel, or 'qa waits' for an environment that waits for a promotion. */
export const summarise = ({ environments }: BuildOutcome): readonly string[] =>
  environments.flatMap(({ environment, waits, channels }) => [
    ...(waits ? [`${environment} waits`] : []),
    ...channels.map(
      ({ clusterType, outcome, version, direct }) =>
        `${environment}/${clusterType} ${outcome} ${version}${direct ? ' direct' : ''}`,
    ),
  ]);
