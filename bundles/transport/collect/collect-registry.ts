import type { Digest } from '../../digest.ts';
import { type FleetError, toFleetError } from '../../errors.ts';
import type { Layout } from '../../formats/layout/layout.ts';
import { choosePointers, type Selection } from '../publish/choose-pointers.ts';
import type { Pointer } from '../publish/upload-batch.ts';
import type { Registry, Repository } from '../registry/registry.ts';
import type { TrustRoot } from '../../trust/root/root.ts';
import { chooseKept, type Retention } from './choose-kept.ts';
import { type Collection, hasMoved, planCollection } from './plan-collection.ts';
import type { Artifact } from './read-artifacts.ts';
import { removeTags } from './remove-tags.ts';

export type CollectOptions = {
  readonly selection: Selection;
  readonly retention: Retention;
  readonly held: ReadonlySet<Digest>;
  readonly chain: readonly TrustRoot[];
  /** false: only report the tags that would be removed. */
  readonly remove: boolean;
  readonly signal: AbortSignal;
  readonly onRepository?: (outcome: CollectOutcome) => void;
};

/** Result for one repository. */
export type CollectOutcome = {
  readonly repository: string;
  /** 'moved': a publish ran at the same time, so nothing more was removed. */
  readonly outcome: 'planned' | 'removed' | 'moved' | 'failed';
  readonly keptReleases: number;
  /** Tags that are gone, or would be. */
  readonly tags: readonly string[];
  readonly error?: FleetError;
};

const STOPS: readonly string[] = ['REGISTRY_UNREACHABLE', 'REGISTRY_DENIED', 'ABORTED', 'INTERNAL'];

/**
 * Removes the tags that no kept release needs, repository by repository; the registry's own garbage collection then frees
 * the space. A repository that cannot be judged is left as it is.
 * @throws FleetError CHANNEL_MISSING, SITE_MISSING, REGISTRY_UNREACHABLE, REGISTRY_DENIED, REGISTRY_REFUSED
 */
export const collectRegistry = async (
  layout: Layout,
  registry: Registry,
  options: CollectOptions,
): Promise<readonly CollectOutcome[]> => {
  const { signal, chain, retention, held } = options;
  const outcomes: CollectOutcome[] = [];
  const repositories = Map.groupBy(
    choosePointers(layout, options.selection),
    (pointer) => pointer.repository,
  );
  for (const [path, pointers] of repositories) {
    signal.throwIfAborted();
    const repository = registry.repository(path);
    const input = {
      path,
      repository,
      pointers: allOf(layout, pointers),
      layout: layout.blobs,
      chain,
      choose: (artifacts: readonly Artifact[], pinned: readonly Artifact[]) =>
        chooseKept(artifacts, pinned, retention),
      held,
    };
    const outcome = await collect(() => planCollection(input, signal), repository, path, options);
    options.onRepository?.(outcome);
    outcomes.push(outcome);
  }
  return outcomes;
};

/** All pointers of the repositories, even if only some were selected. */
const allOf = (layout: Layout, pointers: readonly Pointer[]): readonly Pointer[] =>
  choosePointers(layout, {}).filter(({ repository }) =>
    pointers.some((one) => one.repository === repository),
  );

const collect = async (
  plan: () => Promise<Collection>,
  repository: Repository,
  path: string,
  { remove, signal }: CollectOptions,
): Promise<CollectOutcome> => {
  const nothing = { repository: path, keptReleases: 0, tags: [] };
  let planned: Collection;
  try {
    planned = await plan();
  } catch (error) {
    const known = toFleetError(error, `reading ${path}`);
    if (STOPS.includes(known.code)) throw known;
    return { ...nothing, outcome: 'failed', error: known };
  }
  const { keptReleases } = planned;
  if (!remove) return { repository: path, outcome: 'planned', keptReleases, tags: planned.remove };
  if (planned.remove.length > 0 && (await hasMoved(repository, planned, signal)))
    return { repository: path, outcome: 'moved', keptReleases, tags: [] };
  const tags = await removeTags(repository, planned.remove, signal);
  return { repository: path, outcome: 'removed', keptReleases, tags };
};
