import { openHub } from '../hub/open-hub.ts';
import { readEnrolled } from '../hub/sites/layers/read-enrolled.ts';
import { storeExists } from '../hub/store/open-store.ts';
import type { Enrolled } from '../plan/validate/sites/advise-sites.ts';
import type { Configuration } from '../settings/configuration.ts';

/**
 * The agents of the hub that a configuration names; undefined without a database, with keys and layout, that exists.
 * @throws FleetError of openHub
 */
export const enrolledOf = async (configuration: Configuration): Promise<Enrolled | undefined> => {
  const { db, layout, keys } = configuration;
  if (db === undefined || layout === undefined || keys === undefined) return undefined;
  if (!(await storeExists(db))) return undefined;
  await using hub = await openHub(configuration);
  return await readEnrolled(hub);
};
