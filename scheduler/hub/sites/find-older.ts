import { type FleetError, isFleetError } from '#bundles/errors';
import { parts } from '../store/parts.ts';
import type { Database } from '../store/tables.ts';
import type { SiteSigner } from './site-signer.ts';

/** @returns the sites of which the layout has a newer statement than the database, with the ROLLBACK of each */
export const findOlder = async (
  db: Database,
  sites: readonly string[],
  { checkOwn }: Pick<SiteSigner, 'checkOwn'>,
): Promise<ReadonlyMap<string, FleetError>> => {
  const found = new Map<string, FleetError>();
  for (const part of parts(sites)) {
    const rows = await db
      .selectFrom('site')
      .select(['name', 'version', 'statement'])
      .where('name', 'in', part)
      .execute();
    const known = new Map(rows.map((row) => [row.name, row]));
    for (const name of part) {
      try {
        await checkOwn(known.get(name) ?? { name, version: 0 }, 0);
      } catch (error) {
        if (!isFleetError(error, 'ROLLBACK')) throw error;
        found.set(name, error);
      }
    }
  }
  return found;
};
