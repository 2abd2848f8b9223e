import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError } from '../../../bundles/errors.ts';
import { runCommand, runOrFail } from '../run/run-command.ts';
import { orExplain } from './or-explain.ts';
import type { Machine, Part } from './part.ts';

export type PythonEnvironment = Pick<Part, 'title' | 'variable'> & {
  /** Of the folder in the cache. */
  readonly name: string;
  /** Of the folder below it. */
  readonly version: string;
  readonly packages: readonly string[];
  /** Of its bin/: the path of the part. */
  readonly program: string;
  /** Arguments that prove that it runs here. */
  readonly proof: readonly string[];
  /** Interpreters that its packages run with; the first that this machine has. python3 by default. */
  readonly pythons?: readonly string[];
};

/** A program of PyPI in a Python environment of its own, kept in the cache. */
export const pythonEnvironment = ({
  title,
  variable,
  name,
  version,
  packages,
  program,
  proof,
  pythons = ['python3'],
}: PythonEnvironment): Part => {
  const place = (machine: Machine, file: string): string => join(machine.cache, name, version, file);
  const path = (machine: Machine): string => place(machine, join('bin', program));
  return {
    title,
    variable,
    source: `pip install ${packages.join(' ')}, into an environment in the cache`,
    find: (machine) => (existsSync(place(machine, 'ready')) ? path(machine) : undefined),
    // Built in its final place, as an environment holds its own path; `ready` is written last, so half of one is rebuilt.
    install: async (machine) => {
      const options = { env: machine.env, signal: machine.signal };
      await orExplain(`Python cannot have ${packages.join(' and ')}`, async () => {
        const { python, env } = await firstThatRuns(pythons, machine);
        await runOrFail([python, '-m', 'venv', '--clear', place(machine, '')], { ...options, env });
        const pip = [place(machine, 'bin/python'), '-m', 'pip', 'install', '--quiet', '--retries=1'];
        await runOrFail([...pip, ...packages], options);
        await runOrFail([path(machine), ...proof], options);
        await writeFile(place(machine, 'ready'), '');
      });
      return path(machine);
    },
  };
};

type Interpreter = { readonly python: string; readonly env: NodeJS.ProcessEnv };

const firstThatRuns = async (pythons: readonly string[], { env }: Machine): Promise<Interpreter> => {
  for (const python of pythons) {
    // pyenv has a command for each version it installed, and runs only the one that is chosen.
    const [, minor] = /^python(3\.\d+)$/.exec(python) ?? [];
    const chosen = minor === undefined ? env : { ...env, PYENV_VERSION: minor };
    const ended = await runCommand([python, '--version'], { env: chosen }).catch(() => undefined);
    if (ended?.code === 0) return { python, env: chosen };
  }
  throw new FleetError('TOOL_MISSING', `This machine has none of ${pythons.join(', ')}.`);
};
