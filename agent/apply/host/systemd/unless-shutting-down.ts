import { FleetError, isFleetError } from '#bundles/errors';
import type { HostTargetOptions } from '../host-options.ts';
import { systemctl } from './systemctl.ts';

/**
 * Returns the error behind a failure if the host is shutting down: systemd refuses every new job (systemctl(1), is-system-running) or
 * no longer answers. Otherwise undefined.
 */
const findShutdownError = async (
  options: HostTargetOptions,
  cause?: unknown,
): Promise<FleetError | undefined> => {
  if (options.services === 'none' || options.root !== '/' || isFleetError(cause, 'ABORTED')) return undefined;
  const { stdout } = await systemctl(options, ['is-system-running'], AbortSignal.timeout(10_000));
  switch (stdout.trim()) {
    case 'stopping':
      return new FleetError('ABORTED', 'the host is going down', {
        cause,
        hint: 'The agent continues after the next start',
      });
    case '':
    case 'offline':
    case 'unknown':
      return isFleetError(cause, 'IO')
        ? undefined
        : new FleetError('IO', 'systemd on this host does not answer', {
            cause,
            hint: '"systemctl is-system-running" shows its state; the agent tries again',
          });
    default:
      return undefined;
  }
};

/**
 * Runs `work` on a host that may shut down meanwhile. `failed` decides whether a result is a failure.
 * @throws FleetError ABORTED or IO instead of a failure caused by the shutdown; otherwise the error of `work`
 */
export const unlessShuttingDown = async <T>(
  options: HostTargetOptions,
  work: () => Promise<T>,
  failed: (result: T) => boolean = () => false,
): Promise<T> => {
  let result: T;
  try {
    result = await work();
  } catch (error) {
    throw (await findShutdownError(options, error)) ?? error;
  }
  const wrong = failed(result) ? await findShutdownError(options) : undefined;
  if (wrong) throw wrong;
  return result;
};
