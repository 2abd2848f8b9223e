import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runOrFail } from '../run/run-command.ts';
import { buildVersion } from './cache-folder.ts';
import { goModule } from './go-module.ts';
import { orExplain } from './or-explain.ts';
import type { Machine, Part } from './part.ts';

const MODULE = 'sigs.k8s.io/kwok';
const VERSION = 'v0.8.0';

/** What a fake node and its pods do: at once, and with a heartbeat. kwok knows no stages of its own. */
const STAGES = ['node/fast', 'node/heartbeat-with-lease', 'pod/fast'];

const family = (machine: Machine): string => join(machine.cache, 'kwok');
const folder = (machine: Machine): string => join(family(machine), VERSION);

/** Nodes and pods that only say they run. The path is a folder with the program `kwok` and its `stages.yaml`. */
export const kwok: Part = {
  title: 'kwok',
  variable: 'FLEET_KWOK',
  source: `a Go build of ${MODULE} ${VERSION} into the cache, two minutes when nothing of it was ever built`,
  isBuilt: true,
  find: (machine) => (existsSync(folder(machine)) ? folder(machine) : undefined),
  install: async (machine) => {
    await mkdir(family(machine), { recursive: true });
    await orExplain(`Go could not build ${MODULE}@${VERSION}`, () =>
      buildVersion(family(machine), async (temporary) => {
        await build(temporary, machine);
        return VERSION;
      }),
    );
    return folder(machine);
  },
};

const build = async (target: string, machine: Machine): Promise<void> => {
  const env = { ...machine.env, GOBIN: target, CGO_ENABLED: '0' };
  const words = ['go', 'install', '-ldflags=-s -w', `${MODULE}/cmd/kwok@${VERSION}`];
  await runOrFail(words, { cwd: target, env, signal: machine.signal });
  const sources = await goModule(`${MODULE}@${VERSION}`, machine);
  const stages: string[] = [];
  for (const stage of STAGES) {
    const from = join(sources, 'kustomize/stage', stage);
    for (const file of (await readdir(from)).toSorted()) {
      if (file.endsWith('.yaml') && file !== 'kustomization.yaml')
        stages.push(await readFile(join(from, file), 'utf8'));
    }
  }
  await writeFile(join(target, 'stages.yaml'), stages.join('\n---\n'));
  await runOrFail([join(target, 'kwok'), '--version']);
};
