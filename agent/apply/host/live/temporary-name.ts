import { createHash } from 'node:crypto';

/**
 * The one name that a write to `name` uses before its rename: what an interrupted write leaves behind is found again by
 * the next plan for that file, and nothing else that somebody called '.fleet-something' is ever touched.
 */
export const temporaryName = (name: string): string =>
  `.fleet-${createHash('sha256').update(name).digest('hex').slice(0, 16)}`;
