import { compareBytes, type Digest } from '#bundles/digest';
import type { Candidate } from '#bundles/schemas/types/hub-decisions';
import { isFleetError } from '#bundles/errors';
import type { Timestamp } from '#bundles/time';
import type { Hub } from '../../hub.ts';
import { seesAssignment, type Visible } from '../../people/visible.ts';
import { namePackage } from '../../questions/history/name-value.ts';
import { openReleases, type PastRelease, type Releases } from '../../questions/history/read-releases.ts';
import type { Link } from '../facts/link.ts';

/** Reads author, time and title of the commit of a source; undefined where no repository says it. */
export type ReadCommit = (source: {
  readonly repo: string;
  readonly commit: string;
}) => Promise<Candidate['brings'][number]['commit'] | undefined>;

/** Workloads that are named. */
const BRINGS = 5;

type Asked = {
  readonly link: Pick<Link, 'from' | 'to'>;
  /** Shared digest of the candidate. */
  readonly shared: Digest;
  readonly visible: Visible | undefined;
  readonly readCommit: ReadCommit | undefined;
};

/**
 * The candidate as people know it: the versions that it would bring to the later environment, by the newest release of each, with who made
 * them, and since when the earlier environment has it.
 */
export const describeCandidate = async (
  hub: Pick<Hub, 'layout' | 'keys'>,
  { link: { from, to }, shared, visible, readCommit }: Asked,
): Promise<Candidate> => {
  const releases = await openReleases(hub);
  const brought = new Map<string, Candidate['brings'][number]>();
  const released: Timestamp[] = [];
  for (const channel of releases.channels().filter(({ environment }) => environment === from)) {
    const made = (await pastOf(releases, channel)).filter((release) => release.shared === shared);
    const [newest] = made;
    if (newest === undefined) continue;
    released.push(...made.map(({ issuedAt }) => issuedAt));
    const later = { environment: to, clusterType: channel.clusterType };
    const there = (await pastOf(releases, later)).find(({ current }) => current)?.packages;
    const seen = [...newest.packages].filter(([assignment]) => seesAssignment(visible, to, assignment));
    for (const [assignment, { package: digest, workload }] of seen) {
      const { name, version } = await namePackage(releases, channel, assignment, digest);
      const now = there?.get(assignment)?.package;
      const before = now === undefined ? null : await namePackage(releases, later, assignment, now);
      if (before?.name === name) continue;
      const key = `${workload ?? assignment} ${name}`;
      if (brought.has(key)) continue;
      // Asks a repository: for those alone that are named.
      const source = brought.size < BRINGS ? await releases.sourceOf(channel, assignment, digest) : undefined;
      brought.set(key, {
        workload: workload ?? assignment,
        name,
        version,
        before: before?.version?.version ?? before?.name ?? null,
        commit: await commitOf(source, readCommit),
      });
    }
  }
  const all = [...brought.values()];
  const [since = null] = released.toSorted(compareBytes);
  return { since, brings: all.slice(0, BRINGS), more: Math.max(0, all.length - BRINGS) };
};

const commitOf = async (
  source: Awaited<ReturnType<Releases['sourceOf']>>,
  readCommit: ReadCommit | undefined,
): Promise<Candidate['brings'][number]['commit']> => {
  if (source?.commit === undefined || readCommit === undefined) return null;
  return (await readCommit({ repo: source.repo, commit: source.commit })) ?? null;
};

/** A channel whose releases cannot be read names nothing. */
const pastOf = async (
  releases: Releases,
  channel: Parameters<Releases['of']>[0],
): Promise<readonly PastRelease[]> => {
  try {
    return await releases.of(channel);
  } catch (error) {
    if (isFleetError(error)) return [];
    throw error;
  }
};
