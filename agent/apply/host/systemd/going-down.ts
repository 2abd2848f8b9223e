import { FleetError } from '#bundles/errors';
import type { HostTargetOptions } from '../host-options.ts';
import { systemctl } from './systemctl.ts';

/**
 * Is the host being shut down, or its systemd gone already? Then what just failed says nothing about the package: systemd
 * refuses every new job while it stops (systemctl(1), is-system-running).
 */
const isGoingDown = async (options: HostTargetOptions): Promise<boolean> => {
  if (options.services === 'none' || options.root !== '/') return false;
  const { stdout } = await systemctl(options, ['is-system-running'], AbortSignal.timeout(10_000));
  return ['stopping', 'offline', 'unknown', ''].includes(stdout.trim());
};

const interrupted = (cause?: unknown): FleetError =>
  new FleetError('ABORTED', 'the host is going down', {
    cause,
    hint: 'The agent goes on from here after the next start',
  });

/**
 * Does something to a host that may be switched off meanwhile; `failed` judges a result that is no error.
 * @throws FleetError ABORTED instead of the failure, and what `work` throws
 */
export const unlessGoingDown = async <T>(
  options: HostTargetOptions,
  work: () => Promise<T>,
  failed: (result: T) => boolean = () => false,
): Promise<T> => {
  let result: T;
  try {
    result = await work();
  } catch (error) {
    if (await isGoingDown(options)) throw interrupted(error);
    throw error;
  }
  if (failed(result) && (await isGoingDown(options))) throw interrupted();
  return result;
};
