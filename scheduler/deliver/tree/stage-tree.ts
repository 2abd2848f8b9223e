import type { Digest } from '#bundles/digest';
import { FleetError, isFleetError } from '#bundles/errors';
import { type Channel, formatChannel, sameChannel } from '#bundles/names';
import type { Rollout } from '#bundles/formats/statements/predicates';
import { type Bundle, readBundle } from '#bundles/formats/bundle/read-bundle';
import { isSelected, reachesEveryone } from '#bundles/trust/accept/is-selected';
import { checkSources } from '../../assemble/candidate/check-candidate.ts';
import { toCandidateSource } from '../../assemble/candidate/create-candidate.ts';
import { readCandidate } from '../../assemble/candidate/read-candidate.ts';
import { lineagesOf } from '../../load/releases/check-promoted.ts';
import { withNewestStatement } from '../../load/releases/newest-statement.ts';
import { type StoredRelease, readRelease } from '../../load/releases/read-release.ts';
import { unpackBundle } from '../../load/releases/unpack-bundle.ts';
import type { Sources } from '../../load/sources/open-sources.ts';
import type { RolloutPolicy } from '../../model/promotion.ts';
import { listReleases } from '../../release/reissue/list-releases.ts';
import { readPlan } from '../../release/rollout/plan-document.ts';
import type { RolloutPlan } from '../../release/rollout/plan-rollout.ts';
import { type RenderedEnvironment, renderEnvironment } from '../../render/render-environment.ts';
import type { Tree } from '../../render/render-tree.ts';
import { type Changes, planChanges } from '../git/plan-changes.ts';
import { planFolders, type WholeFolder } from '../git/plan-folders.ts';
import type { BranchFiles } from '../git/read-branch.ts';
import {
  CLUSTERS,
  clusterFolder,
  HELD_FILE,
  RELEASE_FILE,
  releaseText,
  type TreeCluster,
} from '../git/cluster-folder.ts';
import { loadLocked, type PlaceOptions, type TreeLayout } from './load-place.ts';
import { completeReconcilers, type FollowedBundle } from './complete-reconcilers.ts';
import { placeValues } from './place-values.ts';
import type { HeldAtCluster } from './tree-delivery.ts';

/** The tree of an environment, with each folder at the stage of its rollout. */
export type StagedTree = Pick<RenderedEnvironment, 'platform' | 'tree' | 'isKept'> & {
  readonly plan: (before: BranchFiles) => Changes;
  /** Files of cluster types that a rollout has not reached whole and that the paths before do not have: their earlier content. */
  readonly earlier: (before: Iterable<string>) => Tree;
  /** '<channel>: stage <name> (1 of 3)' of each channel that is released in stages. */
  readonly stages: readonly string[];
  /** Packages that values of sites hold back. */
  readonly heldAtClusters: readonly HeldAtCluster[];
};

export type StageOptions = PlaceOptions & {
  readonly sources: Sources;
  readonly opened: TreeLayout | undefined;
  readonly rolloutPolicies: readonly RolloutPolicy[];
  /** Clusters that follow folders of their own. */
  readonly clusters: readonly TreeCluster[];
};

/** The fields of a channel's release that decide about folders. */
type Stage = {
  readonly release: StoredRelease;
  readonly rollout: Rollout;
  readonly bundle: Digest | undefined;
  readonly candidate: Digest;
  /** Content of agents that the rollout has not reached. */
  readonly before: { readonly candidate: Digest; readonly bundle: Digest | undefined } | undefined;
  readonly isWhole: boolean;
  /** 'stage <name> (1 of 3)'; undefined for a release without stages. */
  readonly words: string | undefined;
};

/**
 * Limits a rendered tree to the releases of its channels, so that the stages of a rollout are written one after the other. A
 * cluster's folder gets the content of the release that selects the cluster, as an agent would; the folder of a cluster type gets
 * it when the release reaches all agents. Until then they keep their content on the branch. The content is that of the release's
 * candidate, so that it contains nothing newer.
 * @throws FleetError USAGE without a layout if a RolloutPolicy has stages, or for a cluster type with the name of the folder of
 * clusters; CANDIDATE_MISMATCH; the codes of readRelease and readPlan
 */
export const stageTree = async (
  options: StageOptions,
  rendered: RenderedEnvironment,
): Promise<StagedTree> => {
  const { platform, tree, isKept } = rendered;
  const { environment } = platform;
  const policy = options.rolloutPolicies.find((one) => one.environment === environment);
  const clusters = options.clusters.filter(({ channel }) => channel.environment === environment);
  const { opened } = options;
  if (!opened) {
    if (policy) throw needsLayout(environment, policy);
    return {
      platform,
      tree,
      isKept,
      plan: (before) => planChanges(before, tree, isKept),
      earlier: () => new Map(),
      stages: [],
      heldAtClusters: [],
    };
  }
  const render = createRender(options, opened, rendered);
  const bundleAt = createBundleReader(opened);
  /** By cluster type; undefined without stages. */
  const shared = new Map<string, Content | 'held'>();
  const atFirst = new Map<string, Content>();
  const folders: WholeFolder[] = [];
  const stages: string[] = [];
  const heldAtClusters: HeldAtCluster[] = [];
  for (const { name: clusterType } of platform.clusterTypes) {
    const channel = { environment, clusterType };
    const own = clusters.filter((one) => sameChannel(one.channel, channel));
    if (own.length > 0 && clusterType === CLUSTERS) throw takenName(channel);
    const stage = await readStage(opened, channel);
    if (!stage) {
      if (policy) shared.set(clusterType, 'held');
      continue;
    }
    if (stage.words !== undefined) stages.push(`${formatChannel(channel)}: ${stage.words}`);
    const { isWhole } = stage;
    if (!policy && isWhole && own.length === 0) continue;
    const now = await render(clusterType, stage.candidate);
    const earlier = stage.before && (await renderEarlier(render, clusterType, stage.before.candidate));
    if (policy || !isWhole) {
      shared.set(clusterType, isWhole ? now : 'held');
      if (earlier) atFirst.set(clusterType, earlier);
    }
    for (const cluster of own) {
      const { folder, held } = await folderOf(bundleAt, cluster, stage, { now, earlier });
      folders.push(folder);
      heldAtClusters.push(...held);
    }
  }
  const staged = compose(rendered, shared);
  const earlierFiles = (before: Iterable<string>): Tree => {
    const paths = [...before];
    const first = [...atFirst].filter(([type]) => shared.get(type) === 'held' && !hasTargets(paths, type));
    return new Map(
      first.flatMap(([type, { files }]) =>
        [...files].map(([path, bytes]) => [`${type}/${path}`, bytes] as const),
      ),
    );
  };
  return {
    platform,
    ...staged,
    earlier: earlierFiles,
    plan: (before) => {
      const whole = new Map([...staged.tree, ...earlierFiles(before.keys())]);
      return planFolders(planChanges(before, whole, staged.isKept), before, folders);
    },
    stages,
    heldAtClusters,
  };
};

/** The files of one cluster type, by path within its folder, and the targets whose files stay. */
type Content = { readonly files: Tree; readonly isKept: (target: string) => boolean };

type Render = (clusterType: string, candidate: Digest) => Promise<Content>;

/** Renders each candidate once. Reuses the given tree if it was made from the same sources. */
const createRender = (
  options: StageOptions,
  { layout }: TreeLayout,
  rendered: RenderedEnvironment,
): Render => {
  const { environment, sources } = rendered.platform;
  const known = new Map<Digest, Promise<RenderedEnvironment>>();
  const renderAt = async (digest: Digest): Promise<RenderedEnvironment> => {
    const given = await readCandidate(digest, [layout.blobs], options.signal);
    try {
      checkSources(given, sources.map(toCandidateSource), '', false);
      return rendered;
    } catch (error) {
      if (!isFleetError(error, 'CANDIDATE_MISMATCH')) throw error;
    }
    return renderEnvironment(await loadLocked(options, environment, given));
  };
  return async (clusterType, candidate) => {
    const found = known.get(candidate) ?? renderAt(candidate);
    known.set(candidate, found);
    const { tree, isKept } = await found;
    const start = `${clusterType}/`;
    const files = [...tree].flatMap(([path, bytes]) =>
      path.startsWith(start) && path !== `${start}README.md`
        ? [[path.slice(start.length), bytes] as const]
        : [],
    );
    return { files: new Map(files), isKept: (target) => isKept(`${start}${target}`) };
  };
};

/** Only for a folder that the branch does not have yet: content that can no longer be read is omitted. */
const renderEarlier = async (
  render: Render,
  clusterType: string,
  candidate: Digest,
): Promise<Content | undefined> => {
  try {
    return await render(clusterType, candidate);
  } catch (error) {
    if (isFleetError(error, 'MISSING_BLOB') || isFleetError(error, 'CANDIDATE_MISMATCH')) return undefined;
    throw error;
  }
};

const readStage = async ({ layout, roots }: TreeLayout, channel: Channel): Promise<Stage | undefined> => {
  const release = await readRelease(layout, channel, roots);
  const candidate = release && (await candidateOf(layout, release));
  if (!release || candidate === undefined) return undefined;
  const { rollout } = release.predicate;
  const common = { release, rollout, candidate, bundle: bundleOf(release) };
  const isWhole = reachesEveryone(rollout);
  const plan = (await readPlan(layout, release))?.plan;
  const words = plan && describeStages(plan.stages, rollout);
  const wanted = isWhole ? undefined : plan?.before?.release;
  if (wanted === undefined) return { ...common, isWhole, before: undefined, words };
  const past = await listReleases(layout, channel, roots);
  const earlier = past.find((one) => one.release.digest === wanted)?.release;
  const made = earlier && (await candidateOf(layout, earlier));
  const before = earlier && made && { candidate: made, bundle: bundleOf(earlier) };
  return { ...common, isWhole, before, words };
};

const describeStages = (stages: RolloutPlan['stages'], rollout: Rollout): string | undefined => {
  const at = stages.findIndex((one) => JSON.stringify(one.rollout) === JSON.stringify(rollout));
  return at === -1 ? undefined : `stage ${stages[at]?.name} (${at + 1} of ${stages.length})`;
};

const candidateOf = async (
  layout: TreeLayout['layout'],
  release: StoredRelease,
): Promise<Digest | undefined> =>
  (await lineagesOf(layout, await withNewestStatement(layout, release)))[0]?.candidate;

/** The bundle that reconcilers follow. */
const bundleOf = ({ subjects }: StoredRelease): Digest | undefined =>
  subjects.get('bundle/kubernetes') ?? subjects.get('bundle/host');

type ReadBundle = Bundle & Pick<FollowedBundle, 'readPackage'>;
type BundleReader = (digest: Digest) => Promise<ReadBundle>;

/** Reads each bundle once, however many clusters have it, and its packages where one is asked for. */
const createBundleReader = ({ layout: { blobs } }: TreeLayout): BundleReader => {
  const known = new Map<Digest, Promise<ReadBundle>>();
  const readOne = async (digest: Digest): Promise<ReadBundle> => {
    const bundle = await readBundle(blobs, digest);
    let packages: Promise<ReadonlyMap<string, Tree>> | undefined;
    const readPackage = async (id: string): Promise<Tree> =>
      (await (packages ??= unpackBundle(blobs, bundle))).get(id) ?? new Map<string, Buffer>();
    return { ...bundle, readPackage };
  };
  return (digest) => {
    const found = known.get(digest) ?? readOne(digest);
    known.set(digest, found);
    return found;
  };
};

const folderOf = async (
  bundleAt: BundleReader,
  cluster: TreeCluster,
  { rollout, bundle, before }: Stage,
  { now, earlier }: { readonly now: Content; readonly earlier: Content | undefined },
): Promise<{ readonly folder: WholeFolder; readonly held: readonly HeldAtCluster[] }> => {
  const selected = isSelected(rollout, cluster, cluster.labels);
  const content = selected ? now : earlier;
  const placed = content && (await placeAt(bundleAt, cluster, content, selected ? bundle : before?.bundle));
  return {
    folder: {
      folder: clusterFolder(cluster),
      files: selected ? placed?.files : undefined,
      atFirst: selected ? undefined : placed?.files,
      isKept: (placed ?? now).isKept,
    },
    held: placed?.held ?? [],
  };
};

/** The folder of a cluster: the content with the values of its site, the release, and what the values hold back. */
const placeAt = async (
  bundleAt: BundleReader,
  cluster: TreeCluster,
  content: Content,
  bundle: Digest | undefined,
): Promise<Content & { readonly held: readonly HeldAtCluster[] }> => {
  if (bundle === undefined) return { ...content, held: [] };
  const { channel, site, agent, values } = cluster;
  const { kind, config, readPackage } = await bundleAt(bundle);
  const { files, held } =
    kind === 'kubernetes'
      ? await completeReconcilers(
          await placeValues(content.files, config, values, agent),
          { digest: bundle, config, readPackage },
          cluster,
        )
      : { files: content.files, held: new Map<string, FleetError>() };
  const reasons = [...held].map(([assignment, { message }]) => `${assignment}: ${message}\n`);
  return {
    files: new Map([
      ...files,
      [RELEASE_FILE, releaseText(channel, bundle)],
      ...(reasons.length === 0 ? [] : [[HELD_FILE, Buffer.from(reasons.join(''))] as const]),
    ]),
    isKept: (target) => target !== HELD_FILE && (held.has(target) || content.isKept(target)),
    held: [...held].map(([assignment, error]) => ({ cluster: `${site}/${agent}`, assignment, error })),
  };
};

/** Composes the tree from the folders of cluster types at the stages of their rollouts. */
const compose = (
  { tree, isKept }: RenderedEnvironment,
  shared: ReadonlyMap<string, Content | 'held'>,
): Pick<StagedTree, 'tree' | 'isKept'> => {
  const typeOf = (path: string): string => path.split('/')[0] ?? '';
  const files = [
    ...[...tree].filter(([path]) => !shared.has(typeOf(path)) || path === `${typeOf(path)}/README.md`),
    ...[...shared].flatMap(([type, content]) =>
      content === 'held'
        ? []
        : [...content.files].map(([path, bytes]) => [`${type}/${path}`, bytes] as const),
    ),
  ];
  return {
    tree: new Map(files.toSorted(([a], [b]) => (a < b ? -1 : Number(a > b)))),
    isKept: (folder) => {
      const content = shared.get(typeOf(folder));
      if (content === undefined) return isKept(folder);
      return content === 'held' || content.isKept(folder.slice(typeOf(folder).length + 1));
    },
  };
};

const hasTargets = (before: readonly string[], clusterType: string): boolean =>
  before.some((path) => path.startsWith(`${clusterType}/`) && path.split('/').length > 2);

const needsLayout = (environment: string, { name }: RolloutPolicy): FleetError =>
  new FleetError(
    'USAGE',
    `${environment} has stages (RolloutPolicy ${name}), and no layout with its releases is given`,
    {
      subject: environment,
      hint: 'Give --layout: the tree follows the stages of the releases in it',
    },
  );

const takenName = (channel: Channel): FleetError =>
  new FleetError(
    'USAGE',
    `the cluster type ${formatChannel(channel)} has the name of the folder of clusters`,
    {
      subject: formatChannel(channel),
      hint: 'Rename the cluster type, or remove treeClusters from the configuration',
    },
  );
