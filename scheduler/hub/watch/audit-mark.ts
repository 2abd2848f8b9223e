import { findReference, openOrStartLayout } from '#bundles/formats/layout/layout';
import { AUDIT_REFERENCE } from '../../load/releases/references.ts';

/**
 * Digest of the audit log of a layout as its index names it: it changes with every promotion and decision, by whichever process.
 * @returns undefined without a log @throws FleetError LAYOUT_INVALID, PERMISSION, IO
 */
export const auditMark = async (layout: string | undefined): Promise<string | undefined> =>
  layout === undefined ? undefined : findReference(await openOrStartLayout(layout), AUDIT_REFERENCE)?.digest;
