import { FleetError } from '#bundles/errors';
import { isStartFailure, runProcess } from '#bundles/run-process';
import type { Tool } from './tool.ts';

/** Limits for one run of a tool; exceeding them is a mistake or an attack. */
const TOOL_LIMITS = { milliseconds: 60_000, bytes: 64 << 20 };

export type ToolRun = {
  /** `name` is for messages. */
  readonly tool: Pick<Tool, 'command'> & { readonly name: string };
  readonly args: readonly string[];
  readonly cwd: string;
  /** An empty folder, used as home, for configuration and caches, and as the PATH. */
  readonly home: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly limits?: typeof TOOL_LIMITS;
  readonly signal: AbortSignal;
};

export type ToolResult = { readonly code: number; readonly out: Buffer; readonly errors: string };

/**
 * Runs a rendering tool without access to this machine's configuration: no kubeconfig, no plugins, no other programs (such
 * as git), and all requests go to a proxy that does not exist. Its command contains the network isolation
 * (network-isolation.ts). A non-zero exit code is returned, not thrown.
 * @throws FleetError TEMPLATE_LIMIT for a timeout or too much output, ABORTED, IO
 */
export const runTool = async (run: ToolRun): Promise<ToolResult> => {
  const { tool, args, cwd, signal } = run;
  const limits = run.limits ?? TOOL_LIMITS;
  const result = await runProcess([...tool.command, ...args], {
    cwd,
    env: { ...bareEnvironment(run.home), ...run.env },
    signal,
    timeoutMs: limits.milliseconds,
    maxOutput: limits.bytes,
  }).catch((error: unknown) => {
    if (!isStartFailure(error)) throw error;
    throw new FleetError('IO', `${tool.name} could not be started: ${String(error)}`, { cause: error });
  });
  switch (result.stopped) {
    case 'timeout':
      throw new FleetError(
        'TEMPLATE_LIMIT',
        `${tool.name} takes longer than ${limits.milliseconds / 1000} s`,
      );
    case 'output':
      throw new FleetError('TEMPLATE_LIMIT', `${tool.name} writes more than ${limits.bytes} bytes`);
    case undefined:
      return { code: result.code, out: result.stdout, errors: result.stderr };
  }
};

/** Port 9 is the discard service, which is normally not running. */
const NO_PROXY_THERE = 'http://127.0.0.1:9';

const bareEnvironment = (home: string): Record<string, string> => ({
  PATH: home,
  HOME: home,
  TMPDIR: home,
  XDG_CONFIG_HOME: home,
  XDG_CACHE_HOME: home,
  XDG_DATA_HOME: home,
  HELM_PLUGINS: home,
  HELM_NO_PLUGINS: '1',
  KUBECONFIG: '/dev/null',
  KUSTOMIZE_PLUGIN_HOME: home,
  HTTP_PROXY: NO_PROXY_THERE,
  HTTPS_PROXY: NO_PROXY_THERE,
  ALL_PROXY: NO_PROXY_THERE,
  LC_ALL: 'C',
  TZ: 'UTC',
});
