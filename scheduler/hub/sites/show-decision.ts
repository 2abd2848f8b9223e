import { canonicalBytes } from '#bundles/json/canonical';
import type { SiteValues } from '#bundles/formats/statements/predicates';
import { signChange } from '../../release/audit/sign-change.ts';
import type { SiteRow } from '../store/tables.ts';
import type { SiteSigner } from './site-signer.ts';

/**
 * Evidence by which a signer process judges other values of a site (docs/signing.md): both documents, the changes as the audit log will have them, and
 * approvals. Nothing for a key of this machine, and for the same values. @throws FleetError as KeyDirectory.key
 */
export const showDecision = async (
  before: Pick<SiteRow, 'site_values'> | undefined,
  values: SiteValues,
  { root, release, audit, decided = [], approved = [] }: SiteSigner,
): Promise<readonly Uint8Array[]> => {
  if (release.judges !== true) return [];
  const after = canonicalBytes(values, 'doubles');
  if (before?.site_values === after.toString('utf8')) return [];
  const key = decided.length > 0 && root.audit.length > 0 ? await audit?.() : undefined;
  const statements: Uint8Array[] = [];
  for (const change of key ? decided : [])
    if (key)
      statements.push((await signChange({ fleet: root.fleet, ...change, critical: [] }, key)).statement);
  return [...(before ? [Buffer.from(before.site_values)] : []), after, ...statements, ...approved];
};
