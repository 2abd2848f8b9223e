import { notifySystemd } from './notify-systemd.ts';

/** Log message for a failed message to the service manager. */
export const NOTIFY_FAILED = 'the message to the service manager failed';

/**
 * Tells systemd that the program serves, if its unit is of Type=notify. NOTIFY_SOCKET leaves the environment: programs that this one starts
 * do not speak for it. @param onFailure the message could not be sent, and systemd will end the program at the limit of its start
 */
export const notifyReady = async (
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
  onFailure: (reason: string) => void,
): Promise<void> => {
  const { NOTIFY_SOCKET: socket = '' } = env;
  delete env['NOTIFY_SOCKET'];
  if (socket === '') return;
  try {
    await notifySystemd(socket, 'READY=1', signal);
  } catch (cause) {
    if (!signal.aborted) onFailure(String(cause));
  }
};
