import type { Digest } from '#bundles/digest';
import { formatTime, type Timestamp } from '#bundles/time';
import type { Database } from '../store/tables.ts';
import type { SupportTarget } from './request-support.ts';

export type ListedSupport = {
  /** '<site>/<agent>' */
  readonly agent: string;
  /** null: an operator made the bundle without a request. */
  readonly request: string | null;
  readonly requestedAt: Timestamp | null;
  readonly until: Timestamp | null;
  readonly person: string | null;
  readonly reason: string | null;
  readonly state: 'waits' | 'answered' | 'over' | 'unasked';
  /** The stored bundle; null if it did not arrive, or was removed since. */
  readonly bundle: {
    readonly digest: Digest;
    readonly madeAt: Timestamp;
    readonly receivedAt: Timestamp;
    readonly source: string;
    readonly bytes: number;
  } | null;
};

/** Requests and bundles, newest first. @param target undefined: of all sites */
export const listSupport = async (
  db: Database,
  target: SupportTarget | undefined,
  now: Date,
): Promise<readonly ListedSupport[]> => {
  const isOf = (id: string): boolean => {
    const [site, name] = id.split('/');
    return (
      target === undefined || (site === target.site && (target.agent === undefined || name === target.agent))
    );
  };
  const requests = (await db.selectFrom('support_request').selectAll().execute()).filter(({ agent }) =>
    isOf(agent),
  );
  const bundles = (
    await db
      .selectFrom('support_bundle')
      .select([
        'digest',
        'agent',
        'request',
        'made_at',
        'received_at',
        'source',
        ({ fn }) => fn<number>('length', ['file']).as('length'),
      ])
      .execute()
  ).filter(({ agent }) => isOf(agent));
  const describe = (bundle: (typeof bundles)[number]): ListedSupport['bundle'] => ({
    digest: bundle.digest,
    madeAt: bundle.made_at,
    receivedAt: bundle.received_at,
    source: bundle.source,
    bytes: Math.floor((bundle.length * 3) / 4),
  });
  const asked = requests.map((row): ListedSupport => {
    const bundle = bundles.find(({ request }) => request === row.id);
    const isOver = row.until_at <= formatTime(now);
    return {
      agent: row.agent,
      request: row.id,
      requestedAt: row.requested_at,
      until: row.until_at,
      person: row.person,
      reason: row.reason,
      state: row.answered_at === null ? unanswered(isOver) : 'answered',
      bundle: bundle ? describe(bundle) : null,
    };
  });
  const unasked = bundles
    .filter(({ request }) => request === null)
    .map(
      (bundle): ListedSupport => ({
        agent: bundle.agent,
        request: null,
        requestedAt: null,
        until: null,
        person: null,
        reason: null,
        state: 'unasked',
        bundle: describe(bundle),
      }),
    );
  const timeOf = ({ requestedAt, bundle }: ListedSupport): string => requestedAt ?? bundle?.receivedAt ?? '';
  return [...asked, ...unasked].toSorted((a, b) => {
    const [one, other] = [timeOf(a), timeOf(b)];
    if (one !== other) return one < other ? 1 : -1;
    return a.agent < b.agent ? -1 : 1;
  });
};

const unanswered = (isOver: boolean): 'over' | 'waits' => (isOver ? 'over' : 'waits');
