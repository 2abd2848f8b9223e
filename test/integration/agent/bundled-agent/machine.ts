import { readdir, readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { expect } from 'vitest';
import { digestOf, hexOf } from '#bundles/digest';
import { readIdentity } from '../../../../agent/store/identity.ts';
import { openState } from '../../../../agent/store/state.ts';
import { type Outcome, runCommand } from '../../../harness/run/run-command.ts';
import { type TestBundle, type TestFleet, writeTestMedium } from '../../../harness/fleets/signed-medium.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

/** One agent of its own: a state directory, a stick, and the program with nothing around it that it could import. */
export type Machine = AsyncDisposable & {
  readonly folder: string;
  readonly agent: (words: readonly string[], env?: NodeJS.ProcessEnv) => Promise<Outcome>;
  readonly enroll: () => Promise<Outcome>;
  readonly medium: (version: number, bundle: TestBundle) => Promise<string>;
};

/**
 * @param program the entry file of the bundled agent
 * @param node what starts Node, unless it is this process's
 */
export const startMachine = async (
  program: string,
  fleet: TestFleet,
  node: readonly [string, ...string[]] = [process.execPath],
): Promise<Machine> => {
  const directory = await temporaryDirectory('machine');
  const folder = directory.path;
  const agent: Machine['agent'] = (words, env = {}) =>
    runCommand([...node, program, ...words], {
      cwd: folder,
      env: {
        PATH: process.env['PATH'],
        FLEET_AGENT_STATE: join(folder, 'state'),
        FLEET_AGENT_ROOT: folder,
        FLEET_AGENT_SERVICES: 'none',
        ...env,
      },
    });
  const root = hexOf(digestOf(fleet.roots[0] ?? ''));
  return {
    folder,
    agent,
    enroll: () =>
      agent([
        'enroll',
        ...Object.entries({
          fleet: fleet.name,
          site: 'plant-7',
          name: 'kiosk-1',
          channel: 'prod/factory-host',
          'root-sha256': root,
        }).map(([flag, value]) => `--${flag}=${value}`),
        folder,
      ]),
    medium: async (version, bundle) => {
      using state = openState(join(folder, 'state'));
      const { key } = readIdentity(state);
      const site = { site: 'plant-7', version: 1, agents: [{ name: 'kiosk-1', key }] };
      return await writeTestMedium(join(folder, `medium-${version}`), fleet, {
        site,
        release: { version, bundle },
      });
    },
    [Symbol.asyncDispose]: () => directory[Symbol.asyncDispose](),
  };
};

/** What evaluates this has loaded the client of Kubernetes. */
export const KUBE_CONFIG = /\bclass KubeConfig\b|\bKubeConfig ?= ?class\b/;

type Coverage = {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly {
      readonly ranges: readonly {
        readonly startOffset: number;
        readonly endOffset: number;
        readonly count: number;
      }[];
    }[];
  }[];
};

export const mainOf = (program: string): string => join(dirname(program), 'main.cjs');

type Script = Coverage['result'][number];

const scriptsIn = async (folder: string): Promise<readonly Script[]> => {
  const [file = ''] = await readdir(folder);
  return (JSON.parse(await readFile(join(folder, file), 'utf8')) as Coverage).result;
};

/** Names of the files that one run with its coverage in `folder` has loaded. */
export const filesLoaded = async (folder: string): Promise<readonly string[]> =>
  (await scriptsIn(folder)).map(({ url }) => basename(url));

/** How often V8 ran the piece of the program where `what` stands: the innermost counted range around it says so. */
export const timesEvaluated = async (
  program: string,
  folder: string,
  what: RegExp,
): Promise<number | undefined> => {
  const offset = (await readFile(mainOf(program), 'latin1')).search(what);
  expect(offset).toBeGreaterThan(0);
  const script = (await scriptsIn(folder)).find(({ url }) => url.endsWith('/main.cjs'));
  const around = script?.functions
    .flatMap(({ ranges }) => ranges)
    .filter(({ startOffset, endOffset }) => startOffset <= offset && offset < endOffset)
    .toSorted((a, b) => a.endOffset - a.startOffset - (b.endOffset - b.startOffset));
  return around?.[0]?.count;
};
