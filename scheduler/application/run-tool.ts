import { spawn } from 'node:child_process';
import { FleetError } from '#bundles/errors';
import type { Tool } from './tool.ts';

/** What a rendering may take; beyond it is a mistake, or somebody's malice. */
const TOOL_LIMITS = { milliseconds: 60_000, bytes: 64 << 20 };

export type ToolRun = {
  /** `name` is for messages. */
  readonly tool: Pick<Tool, 'command'> & { readonly name: string };
  readonly args: readonly string[];
  readonly cwd: string;
  /** An empty folder: home, configuration, caches and the only place of programs. */
  readonly home: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly limits?: typeof TOOL_LIMITS;
  readonly signal: AbortSignal;
};

export type ToolResult = { readonly code: number; readonly out: Buffer; readonly errors: string };

/**
 * Runs a rendering tool with nothing of this machine's: no configuration, no kubeconfig, no plugins, no other programs
 * (git is one), and every request sent to a proxy that is not there. What isolates it from the network stands in its command
 * (network-isolation.ts). A failure is a result.
 * @throws FleetError TEMPLATE_LIMIT when it takes too long or writes too much, ABORTED, IO
 */
export const runTool = async (run: ToolRun): Promise<ToolResult> => {
  const { tool, args, cwd, signal } = run;
  const limits = run.limits ?? TOOL_LIMITS;
  signal.throwIfAborted();
  const [program = '', ...first] = tool.command;
  const child = spawn(program, [...first, ...args], {
    cwd,
    env: { ...bareEnvironment(run.home), ...run.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    signal,
    killSignal: 'SIGKILL',
  });
  const out: Buffer[] = [];
  let size = 0;
  let errors = '';
  let late = false;
  const clock = setTimeout(() => {
    late = true;
    child.kill('SIGKILL');
  }, limits.milliseconds);
  child.stdout.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > limits.bytes) child.kill('SIGKILL');
    else out.push(chunk);
  });
  child.stderr.on('data', (chunk: Buffer) => {
    errors = (errors + chunk.toString('utf8')).slice(-16_384);
  });
  try {
    const code = await new Promise<number>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (status) => resolve(status ?? 1));
    });
    if (late)
      throw new FleetError(
        'TEMPLATE_LIMIT',
        `${tool.name} takes longer than ${limits.milliseconds / 1000} s`,
      );
    if (size > limits.bytes)
      throw new FleetError('TEMPLATE_LIMIT', `${tool.name} writes more than ${limits.bytes} bytes`);
    return { code, out: Buffer.concat(out), errors };
  } catch (error) {
    if (error instanceof FleetError) throw error;
    if (signal.aborted) throw new FleetError('ABORTED', `${tool.name} was stopped`, { cause: error });
    throw new FleetError('IO', `${tool.name} could not be started: ${String(error)}`, { cause: error });
  } finally {
    clearTimeout(clock);
  }
};

/** Port 9 discards, where anybody listens at all. */
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
