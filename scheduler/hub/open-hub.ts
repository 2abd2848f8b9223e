import { FleetError } from '#bundles/errors';
import { completeLayout, openLayout, openOrStartLayout, referenceOf } from '#bundles/formats/layout/layout';
import { openKeyDirectory } from '../keys/key-directory.ts';
import { refuseUnfinishedRestore } from '../release/write/unfinished-restore.ts';
import { type Configuration, requireSetting } from '../settings/configuration.ts';
import { describeDatabase } from '../settings/database-url.ts';
import type { Hub } from './hub.ts';
import { updateHistory } from './ingest/reports/rebuild-history.ts';
import { type By, openStore, storeExists } from './store/open-store.ts';

/**
 * Opens the keys and the database of a hub.
 * @param by who changes something; undefined: nobody does, or the program by a rule
 * @param create creates a missing database. Only for commands that may enrol the first site: for others a wrong path would
 *   look like a fleet without sites.
 * @param restoring this is the restore that others wait for
 * @throws FleetError USAGE for a missing setting; LAYOUT_INVALID if a restore did not end; KEY_MISSING; SITE_MISSING if there is no database; WRONG_FLEET,
 *   STORE_CORRUPT, PERMISSION; MEDIUM_MISSING if the database has sites but the layout does not exist
 */
export const openHub = async (
  configuration: Configuration,
  {
    create = false,
    restoring = false,
    by,
  }: { readonly create?: boolean; readonly restoring?: boolean; readonly by?: By } = {},
): Promise<Hub> => {
  const layout = requireSetting(configuration, 'layout');
  const db = requireSetting(configuration, 'db');
  if (!restoring) await refuseUnfinishedRestore(layout);
  const keys = await openKeyDirectory(requireSetting(configuration, 'keys'));
  if (!create && !(await storeExists(db))) {
    throw new FleetError(
      'SITE_MISSING',
      `there is no hub database at ${describeDatabase(db)}, so no site is known`,
      {
        hint: 'Check --db, or restore a backup. "sites enroll", "tokens create" and "serve" create one where the layout has no site yet',
      },
    );
  }
  const store = await openStore(db, keys.root.fleet, { by });
  try {
    await completeLayout(layout);
    // The first enrolment creates the layout. If there are sites and no layout, the path is wrong.
    if (!create && (await store.db.selectFrom('site').select('name').executeTakeFirst()))
      await openLayout(layout);
    await updateHistory(store, (line) => void process.stderr.write(`${line}\n`));
  } catch (error) {
    await store[Symbol.asyncDispose]();
    throw error;
  }
  const { factLabels, siteValues } = configuration;
  const valuesStages = siteValues?.rollout;
  return {
    keys,
    store,
    layout,
    factLabels,
    valuesStages,
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
};

/**
 * Whether a new database may be created. Not if the layout has site statements: their database is elsewhere, and a new one
 * would know none of the agents.
 */
export const hasNoSites = async (configuration: Configuration): Promise<boolean> => {
  const { manifests } = await openOrStartLayout(requireSetting(configuration, 'layout'));
  return !manifests.some((descriptor) => referenceOf(descriptor)?.startsWith('sites/'));
};
