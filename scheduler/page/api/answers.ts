import type { ListedEntry } from '../../hub/promote/decide/list-audit.ts';
import type { PackageAnswer } from '../../hub/questions/answers/answer-package.ts';
import type { Found, SearchAnswer } from '../../hub/questions/answers/answer-search.ts';
import type { ListedRollout } from '../../hub/promote/rollout/list-rollouts.ts';
import type { MediaAnswer } from '../../hub/questions/status/list-media.ts';
import type { Compared } from '../../hub/questions/answers/compare-environments.ts';
import type { WorkloadRow } from '../../hub/questions/answers/answer-workloads.ts';
import type { Change } from '../../hub/questions/history/read-changes.ts';
import type { StoredEvent } from '../../hub/questions/history/read-events.ts';
import type { Verdict } from '../../hub/promote/judge/verdict.ts';
import type { FreshnessPolicies } from '../../hub/questions/state/freshness.ts';
import type { LinkState } from '../../hub/questions/state/link-states.ts';
import type { Row } from '../../hub/questions/state/what-runs-where.ts';

/** Answers of the hub, by the types that it makes them of. They are erased: nothing of the hub is in the page. */

/** GET /v1/status. `rows` are of the agents of one page. */
export type Status = {
  readonly fleet: string;
  readonly at: string;
  readonly freshness: FreshnessPolicies;
  readonly links: readonly LinkState[];
  readonly rows: readonly Row[];
  readonly needALook: number;
  readonly gaps: readonly { readonly agent: string; readonly gaps: readonly object[] }[];
  readonly alarms: readonly {
    readonly agent: string;
    readonly code: string;
    readonly message: string;
    readonly raisedAt: string;
  }[];
  readonly notes: readonly string[];
  readonly next?: string | null;
};

/** GET /v1/events. */
export type Events = {
  readonly at: string;
  readonly events: readonly StoredEvent[];
  readonly next: string | null;
};

/** GET /v1/workloads. */
export type Workloads = {
  readonly at: string;
  /** In the order of the chain. */
  readonly environments: readonly string[];
  readonly workloads: readonly WorkloadRow[];
  readonly next: string | null;
};

/** GET /v1/history. */
export type Changes = {
  readonly at: string;
  readonly changes: readonly (Change & { readonly fromName: string; readonly toName: string })[];
  readonly next: string | null;
};

/** GET /v1/compare. */
export type Compare = {
  readonly left: string;
  readonly right: string;
  readonly assignments: readonly Compared[];
};

/** GET /v1/where. */
export type Where = {
  readonly at: string;
  readonly agents: readonly {
    readonly agent: string;
    readonly site: string;
    readonly channel: Row['channel'];
    readonly heardAt: string | null;
    readonly running: readonly {
      readonly assignment: string;
      readonly package: string;
      readonly name: string;
      readonly since: string;
      readonly health: string | null;
      readonly drift: string | null;
    }[];
  }[];
  readonly next: string | null;
};

/** GET /v1/environments/{environment}/gate. */
export type Gate = Verdict & { readonly candidate: string; readonly earliest: string | null };

/** GET /v1/environments/{environment}/promotions, newest first. */
export type Promotions = {
  readonly promotions: readonly {
    readonly number: number;
    readonly from: string;
    readonly candidate: string;
    readonly mode: string;
    readonly person: string | null;
    readonly reason: string | null;
    readonly time: string;
    readonly current: boolean;
  }[];
};

/** GET /v1/environments/{environment}/rollouts. */
export type Rollouts = { readonly at: string; readonly rollouts: readonly ListedRollout[] };

/** GET /v1/audit. */
export type Audit = {
  readonly at: string;
  readonly head: string | null;
  readonly entries: readonly ListedEntry[];
  readonly next: string | null;
};

export type { Compared, Found, LinkState, ListedEntry, ListedRollout, MediaAnswer, PackageAnswer, Row };
export type { SearchAnswer, StoredEvent };
