import { digestOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { Layout } from '#bundles/formats/layout/layout';
import { readDocuments } from '../../load/releases/artifact.ts';
import { siteReference } from '../../load/releases/references.ts';
import type { SiteRow } from '../store/tables.ts';

/** The newest statement of a site in a database; version 0 and no statement before the first. */
export type OwnStatement = Pick<SiteRow, 'name' | 'version'> & Partial<Pick<SiteRow, 'statement'>>;

/**
 * Refuses a database that is older than the layout, or of another history. Its next statement would have a number that sites have
 * seen, and without what was decided since: an agent that was revoked would be in it again.
 * @param floor a version up to which numbers may be given out again
 * @throws FleetError ROLLBACK
 */
export const refuseOlder = async (layout: Layout, own: OwnStatement, floor = 0): Promise<void> => {
  const laidOut = await readDocuments(layout, siteReference(own.name));
  const known = laidOut.find(({ role }) => role === 'site');
  const version = known?.version ?? 0;
  if (version <= floor || version < own.version) return;
  if (version === own.version && own.statement !== undefined && known?.digest === digestOf(own.statement))
    return;
  throw new FleetError(
    'ROLLBACK',
    `${layout.directory} has statement ${version} of site ${own.name}, and the newest in this database is ${describeOwn(own, version)}`,
    {
      hint: 'Give the --db that belongs to this --layout, or put back its newest copy and run fleet-scheduler restore --in-place; the layout was not changed',
    },
  );
};

const describeOwn = ({ version }: OwnStatement, laidOut: number): string => {
  if (version === 0) return 'none';
  return version === laidOut ? 'another one of this number' : String(version);
};
