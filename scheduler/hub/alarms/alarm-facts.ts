import type { Timestamp } from '#bundles/time';
import type { FreshnessPolicy } from '../../model/promotion.ts';
import type { LinkState } from '../questions/state/link-states.ts';
import type { RebootRequired } from '../store/reboot-state.ts';
import type { Desired } from '../questions/state/what-runs-where.ts';

/** Everything that alarms are derived from, as plain data. */
export type AlarmFacts = {
  readonly now: Date;
  readonly policies: readonly FreshnessPolicy[];
  /** Agents that are not revoked. */
  readonly agents: readonly AgentFacts[];
  readonly troubles: readonly Trouble[];
  readonly corrections: readonly Corrections[];
  readonly evidence: readonly Evidence[];
  readonly gaps: readonly Gap[];
  readonly links: readonly LinkState[];
  /** By formatChannel, of every channel that an agent follows. */
  readonly desired: ReadonlyMap<string, Desired>;
  readonly ends: readonly End[];
  /** Why the loop that builds does not succeed, and since when. */
  readonly trouble: { readonly since: Date; readonly message: string } | undefined;
  readonly receivers: readonly ReceiverFacts[];
  /** Why the audit log in the layout is not the one that this hub knows; undefined: it is. */
  readonly auditFault: string | undefined;
};

export type AgentFacts = {
  /** '<site>/<agent>' */
  readonly id: string;
  readonly site: string;
  readonly environment: string;
  readonly clusterType: string;
  readonly enrolledAt: Timestamp;
  readonly heardAt: Timestamp | null;
  readonly onlineAt: Timestamp | null;
  readonly saidAt: Timestamp | null;
  readonly reported: boolean;
  /** Its service does not run, as it reported. */
  readonly stopped: boolean;
  /** An operator holds the machine as it is. */
  readonly held: boolean;
  /** The reboot that its host needs, as it reported. */
  readonly reboot: RebootRequired | null;
  readonly labels: Readonly<Record<string, string>>;
  /** Number of the newest release of its channel that it accepted; 0: none. */
  readonly release: number;
};

/** An assignment whose last step or check failed, or whose live state differs. */
export type Trouble = {
  readonly agent: string;
  readonly assignment: string;
  /** Whether any package of it runs. */
  readonly runs: boolean;
  readonly failed: {
    readonly at: Timestamp;
    readonly code: string | null;
    readonly message: string | null;
    /** Names of the checks that failed. */
    readonly checks: readonly string[];
  } | null;
  readonly drifted: { readonly at: Timestamp; readonly message: string | null } | null;
};

/** How often the drift of an assignment began during the last day that its agent knows of. */
export type Corrections = {
  readonly agent: string;
  readonly assignment: string;
  readonly times: number;
  readonly first: Timestamp;
};

/** Contradictions proven by reports of an agent (AlarmRow), since its current key. */
export type Evidence = {
  readonly agent: string;
  readonly code: string;
  readonly message: string;
  readonly raisedAt: Timestamp;
};

/** Events that are missing between an agent's head and its newest event. */
export type Gap = {
  readonly agent: string;
  readonly head: number;
  readonly newest: number;
  /** When the first report after the gap came. */
  readonly since: Timestamp;
};

/** Something that ends, with the times before its end at which a warning and a critical alarm begin. */
export type End = {
  readonly kind: 'ROOT_ENDS' | 'CERTIFICATE_ENDS' | 'RELEASE_ENDS' | 'LEASE_ENDS' | 'SITE_STATEMENT_ENDS';
  /** 'the release of prod/factory-host' */
  readonly what: string;
  readonly at: Date;
  readonly warnMs: number;
  readonly criticalMs: number;
  readonly environment?: string;
  readonly clusterType?: string;
  readonly site?: string;
  readonly name?: string;
};

export type ReceiverFacts = {
  readonly name: string;
  readonly failingSince: Timestamp | null;
  /** Notices that it refused more than once; null: none. */
  readonly refused: { readonly count: number; readonly since: Timestamp; readonly message: string } | null;
};
