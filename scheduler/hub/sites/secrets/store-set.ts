import { canonicalJson } from '#bundles/json/canonical';
import { digestOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { MAX_SEALED_BYTES } from '#bundles/trust/secrets/secret-set';
import { formatTime } from '#bundles/time';
import { readSecretSets } from '../secret-sets.ts';
import type { Tx } from '../../store/tables.ts';

/** Sets per site. Each is a subject of the site statement, whose size is limited, as is the response to an enrolment. */
const MAX_SETS = 64;
const MAX_SITE_BYTES = 8 * MAX_SEALED_BYTES;

export type SealedContent = {
  readonly site: string;
  readonly name: string;
  readonly version: number;
  readonly sealed: Buffer;
  readonly recipients: readonly string[];
  /** undefined: every agent of the site. */
  readonly agents: readonly string[] | undefined;
};

/** Stores a sealed set, replacing the previous one. @throws FleetError TOO_MANY, TOO_LARGE */
export const storeSet = async (
  tx: Tx,
  { site, name, version, sealed, recipients, agents }: SealedContent,
  now: Date,
): Promise<void> => {
  const others = (await readSecretSets(tx, site)).filter((set) => set.name !== name);
  if (others.length >= MAX_SETS)
    throw new FleetError('TOO_MANY', `site ${site} has ${others.length} secret sets, more cannot be named`, {
      hint: 'A set has many keys: put what belongs together into one',
    });
  const bytes = others.reduce((sum, set) => sum + set.sealed.byteLength, sealed.byteLength);
  if (bytes > MAX_SITE_BYTES)
    throw new FleetError('TOO_LARGE', `the secret sets of site ${site} would have ${bytes} bytes`, {
      hint: `All sets of a site together may have ${MAX_SITE_BYTES}; remove what is no longer used`,
    });
  const columns = {
    version,
    digest: digestOf(sealed),
    sealed: sealed.toString('base64'),
    recipients: canonicalJson(recipients),
    agents: agents ? canonicalJson(agents) : null,
    sealed_at: formatTime(now),
  };
  await tx
    .insertInto('secret_set')
    .values({ site, name, ...columns })
    .onConflict((conflict) => conflict.columns(['site', 'name']).doUpdateSet(columns))
    .execute();
};
