import { createHash } from 'node:crypto';

/**
 * The temporary name for a write to `name`. It is always the same for one file, so the next plan for the file finds the remains of an
 * interrupted write, and other files with a similar name are never touched.
 */
export const temporaryName = (name: string): string =>
  `.fleet-${createHash('sha256').update(name).digest('hex').slice(0, 16)}`;
