import { bundlesOf } from '../../load/releases/read-release.ts';
import type { Digest } from '#bundles/digest';
import { type Channel, formatChannel, parseChannel } from '#bundles/names';
import { openRepository } from '../../load/sources/git-repository.ts';
import { withoutRepository } from '../../load/sources/run-git.ts';
import { listReleases } from '../../release/reissue/list-releases.ts';
import {
  clusterFolder,
  HELD_FILE,
  RELEASE_FILE,
  releaseText,
  type TreeCluster,
} from '../git/cluster-folder.ts';
import { blobIdIn } from '../git/plan-changes.ts';
import { type BranchFiles, readBranch } from '../git/read-branch.ts';
import { openTreeLayout, type PlaceOptions, type TreeLayout } from './load-place.ts';
import type { TreeTarget } from './tree-target.ts';

/** The bundle in a cluster's folder at a commit of the tree's repository. */
export type TreeCommit = { readonly cluster: TreeCluster; readonly commit: string; readonly bundle: Digest };

export type CommitPlace = PlaceOptions & {
  readonly to: TreeTarget;
  readonly env: NodeJS.ProcessEnv;
};

/**
 * Reads the content of clusters' folders at the heads of their branches, by any author: a merge of our pull request has another
 * id than our commit. Compares contents by the ids of blobs and does not fetch them.
 * @returns a function that reads each head once
 */
export const createCommitReader = () => {
  const seen = new Map<string, string>();
  return async (place: CommitPlace, clusters: readonly TreeCluster[]): Promise<readonly TreeCommit[]> => {
    const { to, env, signal, cacheDirectory } = place;
    if (to.kind !== 'git' || clusters.length === 0) return [];
    const opened = await openTreeLayout(place);
    if (!opened) return [];
    const git = { env: withoutRepository(env), signal };
    const repository = await openRepository(git, to.repo, cacheDirectory);
    const found: TreeCommit[] = [];
    for (const environment of new Set(clusters.map(({ channel }) => channel.environment))) {
      const commit = repository.refs.get(`refs/heads/${to.branch ?? environment}`);
      const own = clusters.filter(({ channel }) => channel.environment === environment);
      const key = `${commit} ${own.map(clusterFolder).join(' ')}`;
      if (commit === undefined || seen.get(environment) === key) continue;
      found.push(...(await readFolders(opened, await readBranch(git, repository, commit), commit, own)));
      seen.set(environment, key);
    }
    return found;
  };
};

const readFolders = async (
  opened: TreeLayout,
  files: BranchFiles,
  commit: string,
  clusters: readonly TreeCluster[],
): Promise<readonly TreeCommit[]> => {
  const idOf = blobIdIn(files);
  const found: TreeCommit[] = [];
  for (const [name, own] of Map.groupBy(clusters, ({ channel }) => formatChannel(channel))) {
    const channel = parseChannel(name);
    const bundles = new Map(
      (await bundlesIn(opened, channel)).map((one) => [idOf(releaseText(channel, one)), one]),
    );
    for (const cluster of own) {
      // Such a folder has not all that the bundle has.
      if (files.has(`${clusterFolder(cluster)}/${HELD_FILE}`)) continue;
      const bundle = bundles.get(files.get(`${clusterFolder(cluster)}/${RELEASE_FILE}`)?.id ?? '');
      if (bundle !== undefined) found.push({ cluster, commit, bundle });
    }
  }
  return found;
};

const bundlesIn = async ({ layout, roots }: TreeLayout, channel: Channel): Promise<readonly Digest[]> =>
  (await listReleases(layout, channel, roots)).flatMap(({ release }) => bundlesOf(release));
