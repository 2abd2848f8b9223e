import { FleetError } from '#bundles/errors';
import { findProgram } from './find-program.ts';
import { isolatingCommand } from './network-isolation.ts';
import { runTool } from './run-tool.ts';
import type { Tool, ToolName, Tools } from './tool.ts';
import { workFolder } from './work-folder.ts';

type Variant = {
  readonly program: string;
  readonly words: readonly string[];
  readonly version: readonly string[];
  readonly read: (out: string) => string | undefined;
};

const VARIANTS: Readonly<Record<ToolName, readonly Variant[]>> = {
  helm: [
    {
      program: 'helm',
      words: [],
      version: ['version', '--template', '{{ .Version }}'],
      read: (out) => /v\d[\w.+-]*/.exec(out)?.[0],
    },
  ],
  xz: [
    {
      program: 'xz',
      words: [],
      version: ['--version'],
      read: (out) => /XZ Utils\) (\S+)/.exec(out)?.[1],
    },
  ],
  // kubectl includes kustomize.
  kustomize: [
    {
      program: 'kustomize',
      words: ['build'],
      version: ['version'],
      read: (out) => /v\d[\w.+-]*|\(devel\)/.exec(out)?.[0],
    },
    {
      program: 'kubectl',
      words: ['kustomize'],
      version: ['version', '--client'],
      read: (out) => /Kustomize Version: (\S+)/.exec(out)?.[1],
    },
  ],
};

const HINTS: Readonly<Record<ToolName, string>> = {
  helm: 'Install Helm 3 or 4 (helm.sh), so that helm is found on the PATH',
  kustomize: 'Install kustomize 5 or kubectl, so that one of them is found on the PATH',
  xz: 'Install xz (package xz-utils), so that it is found on the PATH: Debian packs its packages with it',
};

/**
 * Each tool runs in its own network namespace if this machine supports that (see `network`). @param env the PATH to search
 */
export const openTools = (env: Readonly<Record<string, string | undefined>>, signal: AbortSignal): Tools => {
  const found = new Map<ToolName, Promise<Tool | undefined>>();
  const path = env['PATH'] ?? '';
  let isolating: Promise<readonly string[]> | undefined;
  const isolate = (): Promise<readonly string[]> => (isolating ??= isolatingCommand(path, signal));
  return async (name, application) => {
    const looking = found.get(name) ?? look({ name, path, isolate, signal });
    found.set(name, looking);
    const tool = await looking;
    if (tool) return tool;
    throw new FleetError('TOOL_MISSING', `${application} needs the program ${name}, which is not installed`, {
      subject: application,
      hint: HINTS[name],
    });
  };
};

type Looking = {
  readonly name: ToolName;
  readonly path: string;
  readonly isolate: () => Promise<readonly string[]>;
  readonly signal: AbortSignal;
};

const look = async ({ name, path, isolate, signal }: Looking): Promise<Tool | undefined> => {
  for (const variant of VARIANTS[name]) {
    const program = await findProgram(variant.program, path);
    if (program === undefined) continue;
    await using work = await workFolder();
    const { code, out, errors } = await runTool({
      tool: { name, command: [program] },
      args: variant.version,
      cwd: work.home,
      home: work.home,
      signal,
    });
    const version = code === 0 ? variant.read(out.toString('utf8')) : undefined;
    if (version !== undefined) {
      const before = await isolate();
      const network = before.length === 0 ? 'shared' : 'none';
      return { name, version, network, command: [...before, program, ...variant.words] };
    }
    throw new FleetError('TOOL_MISSING', `${program} does not say its version`, {
      hint: `It should answer to '${variant.version.join(' ')}'; it said: ${errors.trim().split('\n').at(-1) ?? ''}`,
    });
  }
  return undefined;
};
