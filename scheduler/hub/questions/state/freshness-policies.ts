import { canonicalJson } from '#bundles/json/canonical';
import { parseJson } from '#bundles/json/parse-json';
import type { FreshnessPolicy } from '../../../model/promotion.ts';
import type { Store } from '../../store/open-store.ts';
import type { Database } from '../../store/tables.ts';
import { type FreshnessPolicies, NO_AGEING } from './freshness.ts';

/** The policies that `serve` last read from the platform; without any, words do not age. */
export const readFreshness = async (db: Database): Promise<FreshnessPolicies> => {
  const { freshness } = await db.selectFrom('fleet').select('freshness').executeTakeFirstOrThrow();
  return freshness === null
    ? NO_AGEING
    : { from: 'hub', policies: parseJson(freshness) as FreshnessPolicy[] };
};

/** Stores the policies of the newest platform, so that `status` and the metrics need no platform. */
export const recordFreshness = async (store: Store, policies: readonly FreshnessPolicy[]): Promise<void> => {
  const freshness = canonicalJson(policies);
  const { freshness: before } = await store.db
    .selectFrom('fleet')
    .select('freshness')
    .executeTakeFirstOrThrow();
  if (before === freshness) return;
  await store.transact((tx) => tx.updateTable('fleet').set({ freshness }).execute());
};
