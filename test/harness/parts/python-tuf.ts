import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runOrFail } from '../run/run-command.ts';
import { orExplain } from './or-explain.ts';
import type { Machine, Part } from './part.ts';

const packages = ['tuf==7.0.0', 'securesystemslib[crypto]==1.3.1'];
const version = packages.join('+').replaceAll(/[^a-z0-9.+]+/g, '-');

const python = (machine: Machine): string => join(machine.cache, 'python-tuf', version, 'bin/python');
const ready = (machine: Machine): string => join(machine.cache, 'python-tuf', version, 'ready');

/** The reference implementation of TUF, in a Python environment of its own. The path is that environment's python. */
export const pythonTuf: Part = {
  title: 'python-tuf',
  variable: 'FLEET_PYTHON_TUF',
  source: `pip install ${packages.join(' ')}, into an environment in the cache`,
  find: (machine) => (existsSync(ready(machine)) ? python(machine) : undefined),
  // Built in its final place, as an environment holds its own path; `ready` is written last, so half of one is rebuilt.
  install: async (machine) => {
    const folder = join(machine.cache, 'python-tuf', version);
    const options = { env: machine.env, ...(machine.signal && { signal: machine.signal }) };
    await orExplain(`Python cannot have ${packages.join(' and ')}`, async () => {
      await runOrFail(['python3', '-m', 'venv', '--clear', folder], options);
      await runOrFail(
        [python(machine), '-m', 'pip', 'install', '--quiet', '--retries=1', ...packages],
        options,
      );
      await runOrFail([python(machine), '-c', 'import tuf.api.metadata, securesystemslib.signer'], options);
      await writeFile(ready(machine), '');
    });
    return python(machine);
  },
};
