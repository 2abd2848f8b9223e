import type { Digest } from '#bundles/digest';
import { openOrStartLayout } from '#bundles/formats/layout/layout';
import type { Json } from '#bundles/json/canonical';
import type { Timestamp } from '#bundles/time';
import { type AuditEntry, readAuditLog } from '../../../load/releases/audit-log.ts';
import { endedSubmissions } from '../../../release/chain/submitted.ts';
import { cutPage, decodeCursor, type Page } from '../../page.ts';
import { seesWhole, type Visible } from '../../people/visible.ts';
import type { GateHub } from '../gate/gate-hub.ts';

/** An entry of the audit log, the same fields for each kind. */
export type ListedEntry = {
  /** From 1, without gaps. */
  readonly number: number;
  readonly at: Timestamp;
  readonly kind: AuditEntry['kind'];
  /** null for a change, which is about none. */
  readonly environment: string | null;
  /** 'pause', 'start-rollout'; of a promotion and an approval their kind, of a change its verb: 'sites revoke'. */
  readonly what: string;
  /** Of a promotion: its number, the environment before, and its mode. */
  readonly promotion: { readonly number: number; readonly from: string; readonly mode: string } | null;
  /** Stage of a rollout, and the cluster type, if it is about one. */
  readonly stage: string | null;
  readonly only: string | null;
  /** Of an approval that is limited to workspaces. */
  readonly workspaces: readonly string[] | null;
  /** Of a rollback of one assignment: the release that it goes back to. */
  readonly release: number | null;
  /** Of a change: what it changed, such as 'plant-7/press-1', and its state before and after; null: there was none. */
  readonly about: string | null;
  readonly old: { readonly [key: string]: Json } | null;
  readonly new: { readonly [key: string]: Json } | null;
  readonly candidate: Digest | null;
  /** null: a rule decided. */
  readonly person: string | null;
  readonly reason: string | null;
  /** Digest of the line, which the next line names. */
  readonly digest: Digest;
  /** Hint of the key that signed. */
  readonly signer: string;
  /** Of a decision that ended a submission without another one: the submitted candidate. */
  readonly ended: Digest | null;
};

export type AuditAsked = {
  /** undefined: all. */
  readonly environment?: string | undefined;
  /** Entries are about whole environments, so only readers of these see them. */
  readonly visible?: Visible | undefined;
};

/**
 * A page of the audit log, the newest entry first. The whole log is verified before anything is answered.
 * @throws FleetError USAGE for the cursor; the codes of readAuditLog
 */
export const listAudit = async (
  { keys, layout }: Pick<GateHub, 'keys' | 'layout'>,
  { environment, visible }: AuditAsked,
  { limit, cursor }: Page,
): Promise<{
  readonly head: Digest | null;
  readonly entries: readonly ListedEntry[];
  readonly next: string | null;
}> => {
  const { entries, head } = await readAuditLog(await openOrStartLayout(layout), keys.roots);
  const ended = endedSubmissions(entries);
  const [before = Infinity] = cursor === undefined ? [] : decodeCursor(cursor, [0]);
  const wanted = entries
    .filter((entry) => entry.number < before)
    .map((entry) => listed(entry, ended.get(entry.number) ?? null))
    .filter(
      (entry) =>
        (environment === undefined || entry.environment === environment) &&
        (entry.environment === null ? visible === undefined : seesWhole(visible, entry.environment)),
    )
    .toReversed();
  const { rows, next } = cutPage(wanted.slice(0, limit + 1), limit, ({ number }) => [number]);
  return { head, entries: rows, next };
};

const listed = (entry: AuditEntry, ended: Digest | null): ListedEntry => {
  const { number, at, kind, candidate, digest, signer } = entry;
  const { person, reason } = entry.predicate;
  const common = {
    number,
    at,
    kind,
    candidate: candidate ?? null,
    person,
    reason,
    digest,
    signer,
    promotion: null,
    stage: null,
    only: null,
    workspaces: null,
    release: null,
    about: null,
    old: null,
    new: null,
    ended,
  };
  switch (entry.kind) {
    case 'promotion': {
      const { to, from, mode, number: promotion } = entry.predicate;
      return { ...common, environment: to, what: kind, promotion: { number: promotion, from, mode } };
    }
    case 'approval': {
      const { to, stage = null, workspaces = null, about } = entry.predicate;
      if (about !== undefined) return { ...common, environment: null, what: kind, about: to };
      return { ...common, environment: to, what: kind, stage, workspaces };
    }
    case 'decision': {
      const { environment, decision, stage, only, rollback } = entry.predicate;
      const about = { stage: stage ?? null, only: only ?? null, release: rollback?.release ?? null };
      return { ...common, environment, what: decision, ...about };
    }
    case 'change': {
      const { change, about, old, new: after } = entry.predicate;
      return { ...common, environment: null, what: change, about, old, new: after };
    }
  }
};
