import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runOrFail } from '../run/run-command.ts';
import { orExplain } from './or-explain.ts';
import type { Machine, Part } from './part.ts';

const version = '4.32.5';

const place = (machine: Machine, file: string): string => join(machine.cache, 'schemathesis', version, file);

/** Sends requests that an OpenAPI document describes, and others, to a server. The path is that of its program, `st`. */
export const schemathesis: Part = {
  title: 'Schemathesis',
  variable: 'FLEET_SCHEMATHESIS',
  source: `pip install schemathesis==${version}, into an environment in the cache`,
  find: (machine) => (existsSync(place(machine, 'ready')) ? place(machine, 'bin/st') : undefined),
  // Built in its final place, as an environment holds its own path; `ready` is written last, so half of one is rebuilt.
  install: async (machine) => {
    const options = { env: machine.env, ...(machine.signal && { signal: machine.signal }) };
    await orExplain(`Python cannot have schemathesis ${version}`, async () => {
      await runOrFail(['python3', '-m', 'venv', '--clear', place(machine, '')], options);
      const pip = [place(machine, 'bin/python'), '-m', 'pip', 'install', '--quiet', '--retries=1'];
      await runOrFail([...pip, `schemathesis==${version}`], options);
      await runOrFail([place(machine, 'bin/st'), '--version'], options);
      await writeFile(place(machine, 'ready'), '');
    });
    return place(machine, 'bin/st');
  },
};
