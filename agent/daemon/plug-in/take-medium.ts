import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { defined } from '#bundles/defined';
import { type FleetError, isFleetError, toFleetError } from '#bundles/errors';
import { findParts } from '#bundles/formats/medium/parts/find-parts';
import { importMedium } from '../import-medium.ts';
import type { SigningKey } from '#bundles/trust/keys/key';
import { exportSupport } from '../../report/export-support.ts';
import type { SupportSources } from '../../support/create-support-bundle.ts';
import { exportReports } from '../../report/export-reports.ts';
import type { Agent } from '../../store/agent.ts';
import { type Look, lookAround } from '../look-around.ts';
import type { Reported, Taken } from './progress.ts';

type Applied = Extract<Taken, { readonly kind: 'applied' }>;

/**
 * Imports a mounted medium. A medium that is not ours changes nothing and leaves no event.
 * @param isGone whether the device was removed meanwhile @throws FleetError ABORTED
 */
export const takeMedium = async (
  agent: Agent,
  path: string,
  isGone: () => Promise<boolean>,
): Promise<Taken> => {
  try {
    const { release, ...look } = await importMedium(agent, path);
    const upgrading = look.packages.some(({ code }) => code === 'AGENT_UPGRADING');
    return {
      kind: 'applied',
      release: release?.version,
      ...failedPackages(look),
      ...defined({ upgrading: upgrading || undefined }),
    };
  } catch (cause) {
    const error = toFleetError(cause);
    if (error.code === 'ABORTED') throw error;
    if (isUnreadable(error) || (await isGone())) return { kind: 'unreadable' };
    return refusedBy(error);
  }
};

/** A package whose live state could not be read or corrected failed as well. */
const failedPackages = ({
  packages,
  drift,
}: Pick<Look, 'packages' | 'drift'>): Pick<Applied, 'failed' | 'held'> => {
  const named = (outcome: 'failed' | 'skipped') =>
    packages.filter((one) => one.outcome === outcome).map(({ assignment }) => assignment);
  const live = drift.filter(({ failure, error }) => failure ?? error).map(({ assignment }) => assignment);
  return { failed: [...new Set([...named('failed'), ...live])], held: named('skipped') };
};

/** Completes what the import began, in the version of the agent that is installed after its upgrade. */
export const completeTaken = async (agent: Agent, taken: Applied): Promise<Applied> => {
  const { kind, release } = taken;
  return { kind, release, ...failedPackages(await lookAround(agent)) };
};

export const refusedBy = ({ code, message, exitCode }: FleetError): Taken => ({
  kind: 'refused',
  code,
  message,
  exit: exitCode,
});

/**
 * Whether a file system has the folder or the parts of a medium. Content that is ours but invalid is for the import to refuse.
 * @throws an error that `isUnreadable` knows, of a device that was pulled out
 */
export const holdsMedium = async (path: string): Promise<boolean> => {
  const found = await lstat(join(path, 'fleet')).catch(unlessUnreadable);
  if (found?.isDirectory()) return true;
  return (await findParts(path).catch(unlessUnreadable)) !== undefined;
};

const unlessUnreadable = (cause: unknown): undefined => {
  if (isUnreadable(cause)) throw cause;
};

/** Writes the reports, and the support bundle that the office asked for, onto the medium. Events that do not get onto it stay in the outbox. */
export const reportOnto = async (
  agent: Agent,
  key: SigningKey,
  path: string,
  { isGone, ...sources }: SupportSources & { readonly isGone: () => Promise<boolean> },
): Promise<Reported> => {
  try {
    const reports = await exportReports(agent, key, path);
    await exportSupport(agent, key, path, sources);
    return { kind: 'written', events: reports.reduce((sum, { from, to }) => sum + to - from + 1, 0) };
  } catch (cause) {
    const error = toFleetError(cause);
    if (error.code === 'ABORTED') throw error;
    // First: the mount of a device that was removed after the import stays read-only.
    if (isUnreadable(error) || (await isGone())) return { kind: 'unreadable' };
    if (error.code === 'DISK_FULL') return { kind: 'full' };
    if (error.code === 'PERMISSION') return { kind: 'read-only' };
    return { kind: 'failed', code: error.code, message: error.message };
  }
};

/** EUCLEAN and EBADMSG are how a file system reports that its device returned something else. */
export const isUnreadable = (error: unknown): boolean => {
  if (isFleetError(error, 'MEDIUM_MISSING')) return true;
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause)
    if ('code' in cause && ['EIO', 'ENODEV', 'ENXIO', 'EUCLEAN', 'EBADMSG'].includes(String(cause.code)))
      return true;
  return false;
};
