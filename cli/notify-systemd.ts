import { runProcess } from '#bundles/run-process';

const TIMEOUT_MS = 30_000;

/**
 * Sends messages to the service manager (sd_notify(3)): 'READY=1', 'WATCHDOG=1'. Node has no sockets for datagrams of UNIX, so systemd's
 * own program sends them, and the unit needs NotifyAccess=all. @param socket NOTIFY_SOCKET of the environment
 * @throws Error if the message could not be sent; ABORTED
 */
export const notifySystemd = async (socket: string, message: string, signal: AbortSignal): Promise<void> => {
  const env = { PATH: '/usr/local/bin:/usr/bin:/bin', NOTIFY_SOCKET: socket };
  const options = {
    timeoutMs: TIMEOUT_MS,
    signal,
    env,
    cwd: '/',
    maxOutput: 4096,
    excess: 'drop',
  } as const;
  const { code, stderr } = await runProcess(['systemd-notify', message], options);
  if (code !== 0) throw new Error(`systemd-notify ended with ${code}: ${stderr.trim()}`);
};
