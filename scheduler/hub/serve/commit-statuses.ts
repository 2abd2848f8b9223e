import type { Logger } from 'pino';
import type { Digest } from '#bundles/digest';
import { isFleetError, toFleetError } from '#bundles/errors';
import { openOrStartLayout } from '#bundles/formats/layout/layout';
import { pauseMs } from '#bundles/retry';
import { formatTime } from '#bundles/time';
import { registryOptions } from '#bundles/transport/registry/registry-access';
import { readCandidate } from '../../assemble/candidate/read-candidate.ts';
import { configuredFor, openConfigured } from '../../deliver/git/forge/configured-forge.ts';
import { openKeyDirectory } from '../../keys/key-directory.ts';
import { readAuditLog } from '../../load/releases/audit-log.ts';
import type { Promotion } from '../../model/promotion.ts';
import { redactUrl } from '../../model/repository-url.ts';
import { type CommitStatuses, type Configuration, requireSetting } from '../../settings/configuration.ts';
import type { GateHub } from '../promote/gate/gate-hub.ts';
import { foldDecisions } from '../promote/facts/decisions.ts';
import { judgeProgress, type Progress, worseProgress } from '../promote/judge/judge-status.ts';
import { linksOf } from '../promote/facts/link.ts';
import { readChannels } from '../promote/facts/read-channels.ts';
import { readFacts } from '../promote/facts/read-facts.ts';
import type { Store } from '../store/open-store.ts';
import { faultFields } from '../watch/fault-fields.ts';

export type StatusOptions = {
  readonly configuration: Configuration;
  readonly commitStatuses: CommitStatuses;
  readonly store: Store;
  readonly clock: () => Date;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly random: () => number;
};

export type StatusSetter = {
  /** The environments and policies as the last build read them. Without any call nothing is said. */
  readonly follow: (promotion: Promotion) => void;
  /** Reports new states at the forges. Failures are logged and tried again in a later round. Never throws. */
  readonly round: (signal: AbortSignal) => Promise<void>;
};

/** A commit that a released candidate of an environment was made from. */
type Wanted = {
  readonly environment: string;
  readonly repo: string;
  readonly sha: string;
  /** Shared digests of the candidates, sorted, with ',' between. */
  readonly candidates: string;
  /** undefined: nothing new is said. */
  readonly progress: Progress | undefined;
};

/** Pauses after failures of a repository, or of a whole host that cannot be reached. */
const RETRY = { firstMs: 60_000, longestMs: 15 * 60_000, jitter: 'around' } as const;

/** Sets statuses `fleet-ferry/<environment>` on the commits that the released candidates of each environment were made from. */
export const createStatusSetter = (options: StatusOptions): StatusSetter => {
  const { configuration, commitStatuses, store, clock, log, env, random } = options;
  const { forges, targetUrl } = commitStatuses;
  /** Repositories and hosts that failed. */
  const failing = new Map<
    string,
    { readonly failures: number; readonly at: number; readonly until: number }
  >();
  let followed: Promotion | undefined;

  /** A failure that is ahead is of a clock that has been set back since. */
  const isPaused = (name: string): boolean => {
    const { at, until } = failing.get(name) ?? { at: 0, until: 0 };
    const now = clock().getTime();
    return at <= now && now < until;
  };
  const pause = (name: string): void => {
    const failures = (failing.get(name)?.failures ?? 0) + 1;
    const at = clock().getTime();
    failing.set(name, { failures, at, until: at + pauseMs(RETRY, failures, random) });
  };

  const tell = async (
    { environment, repo, sha, candidates }: Wanted,
    progress: Progress,
    signal: AbortSignal,
  ): Promise<void> => {
    const at = configuredFor(repo, forges);
    if (!at || isPaused(repo) || isPaused(at.host)) return;
    const { state, description } = progress;
    const fields = { environment, repository: redactUrl(repo), commit: sha, state };
    try {
      const connection = registryOptions({ ...configuration, env });
      await using forge = await openConfigured(repo, at, { connection, signal });
      const context = `fleet-ferry/${environment}`;
      await forge.setCommitStatus({ commit: sha, context, state, description, url: targetUrl });
    } catch (error) {
      signal.throwIfAborted();
      const fault = toFleetError(error, `setting the status of ${sha}`);
      pause(isFleetError(fault, 'FORGE_UNREACHABLE') ? at.host : repo);
      log.warn({ ...fields, ...faultFields(fault) }, 'commit status not set');
      return;
    }
    failing.delete(repo);
    failing.delete(at.host);
    const row = { environment, repo, sha, candidates, state, set_at: formatTime(clock()) };
    await store.transact((tx) =>
      tx
        .insertInto('commit_status')
        .values(row)
        .onConflict((conflict) => conflict.columns(['environment', 'repo', 'sha']).doUpdateSet(row))
        .execute(),
    );
    log.info(fields, 'commit status');
  };

  const one = async (hub: GateHub, promotion: Promotion, environment: string, signal: AbortSignal) => {
    const wanted = await readWanted(hub, promotion, { environment, now: clock(), signal });
    const own = wanted.filter(({ repo }) => configuredFor(repo, forges));
    const { db } = store;
    const rows = await db
      .selectFrom('commit_status')
      .selectAll()
      .where('environment', '=', environment)
      .execute();
    const known = new Map(rows.map((row) => [keyOf(row), row]));
    for (const status of own) {
      const before = known.get(keyOf(status));
      if (status.progress && isNews(before, status.candidates, status.progress))
        await tell(status, status.progress, signal);
    }
    const current = new Set(own.map(keyOf));
    const gone = rows.filter((row) => !current.has(keyOf(row)));
    if (gone.length > 0)
      await store.transact(async (tx) => {
        for (const { repo, sha } of gone)
          await tx
            .deleteFrom('commit_status')
            .where('environment', '=', environment)
            .where('repo', '=', repo)
            .where('sha', '=', sha)
            .execute();
      });
  };

  return {
    follow: (promotion) => {
      followed = promotion;
    },
    round: async (signal) => {
      if (!followed) return;
      const promotion = followed;
      // Read in every round: officers may install a new root while the hub runs.
      const keys = await openKeyDirectory(requireSetting(configuration, 'keys'));
      const hub: GateHub = { keys, store, layout: requireSetting(configuration, 'layout') };
      for (const { name: environment } of promotion.environments) {
        await one(hub, promotion, environment, signal).catch((error: unknown) => {
          signal.throwIfAborted();
          const fault = toFleetError(error, 'judging what commit statuses say');
          log.error({ environment, ...faultFields(fault) }, 'commit statuses not judged');
        });
        if (signal.aborted) return;
      }
    },
  };
};

/**
 * A success is not taken back to pending while the candidates are the same: agents join, and words become old, after the release
 * has arrived.
 */
const isNews = (
  before: { readonly candidates: string; readonly state: string } | undefined,
  candidates: string,
  { state }: Progress,
): boolean => {
  if (before?.candidates !== candidates) return true;
  return before.state !== state && !(before.state === 'success' && state === 'pending');
};

const keyOf = ({ repo, sha }: { readonly repo: string; readonly sha: string }): string => `${repo}\n${sha}`;

/** Every commit of the released candidates of an environment. Sources that are no commits, such as folders, are left out. */
const readWanted = async (
  hub: GateHub,
  promotion: Promotion,
  {
    environment,
    now,
    signal,
  }: { readonly environment: string; readonly now: Date; readonly signal: AbortSignal },
): Promise<readonly Wanted[]> => {
  const layout = await openOrStartLayout(hub.layout);
  const { roots } = hub.keys;
  const channels = await readChannels(layout, roots, environment);
  const released = new Map(
    channels.flatMap(({ lineage }) => (lineage ? [[lineage.candidate, lineage.shared] as const] : [])),
  );
  if (released.size === 0) return [];
  const { entries } = await readAuditLog(layout, roots);
  const policy = linksOf(promotion).find(({ from }) => from === environment)?.policy;
  const judged = new Map<Digest, Progress | undefined>();
  for (const shared of new Set(released.values())) {
    const facts = await readFacts(hub, { from: environment, to: environment }, shared, { now, signal });
    const decisions = foldDecisions(entries, { to: environment, shared });
    judged.set(shared, judgeProgress(policy, facts, { decisions, now }));
  }
  const found = new Map<string, { repo: string; sha: string; of: Set<Digest> }>();
  for (const [candidate, shared] of released) {
    const { document } = await readCandidate(candidate, [layout.blobs], signal);
    for (const { repo, commit: sha } of document.sources) {
      if (sha === undefined) continue;
      const key = keyOf({ repo, sha });
      const of = found.get(key)?.of ?? new Set();
      found.set(key, { repo, sha, of: of.add(shared) });
    }
  }
  return [...found.values()].map(({ repo, sha, of }) => {
    const [first, ...others] = [...of].flatMap((shared) => judged.get(shared) ?? []);
    return {
      environment,
      repo,
      sha,
      candidates: [...of].toSorted().join(','),
      progress: first && others.reduce(worseProgress, first),
    };
  });
};
