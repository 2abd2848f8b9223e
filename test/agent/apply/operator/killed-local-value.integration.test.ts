import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Event } from '#bundles/formats/events/event';
import { setLocalValue } from '../../../../agent/apply/operator/set-local-value.ts';
import { lookAround } from '../../../../agent/daemon/look-around.ts';
import { readLocalValues } from '../../../../agent/store/local-values.ts';
import { readOutbox } from '../../../../agent/store/outbox/outbox.ts';
import { testProgramFile } from '../../../harness/run/program-file.ts';
import { copyOfWorld } from '../../crash-scenarios.ts';
import { createWorld, openFast, testAgent, type World } from '../../world.ts';

const program = testProgramFile('test/agent/crash-local-value.ts');
const run = promisify(execFile);

/** What the transaction writes. */
const TABLES = ['local_value', 'package', 'outbox', 'chain'] as const;
/** Journal points of a run without a kill: the transaction, and the steps of the packages that take the value. */
const POINTS: string[] = [];
const CHANGE = { name: 'lineNumber', value: 8, person: 'anna', reason: 'line 7 is being rebuilt' };

let world: World;
let calm: object;
beforeAll(async () => {
  world = await createWorld();
  await world.release(1, [
    {
      id: 'line',
      files: { '/etc/line.env': 'A=1\n' },
      inputs: [
        {
          input: 'lineNumber',
          file: '/etc/line.env',
          pointer: '/lineNumber',
          schema: { type: 'integer', default: 7, 'x-editable-by': 'site' },
        },
      ],
    },
    { id: 'other', files: { '/opt/other': 'x' } },
  ]);
  world.agent.state[Symbol.dispose]();
  const folder = copyOfWorld(world, 'calm');
  using state = openFast(join(folder, 'state'));
  await setLocalValue(testAgent(state, folder, { onJournal: (point) => POINTS.push(point) }), CHANGE);
  calm = endOf(folder);
});
afterAll(() => world[Symbol.asyncDispose]());

/** The machine, the local values, and what is reported about them. */
const endOf = (folder: string) => {
  using state = openFast(join(folder, 'state'));
  const events = readOutbox(state).map(({ line }) => JSON.parse(line) as Event);
  return {
    file: readFileSync(join(folder, 'machine', 'live', '/etc/line.env'), 'utf8'),
    local: readLocalValues(state).map(({ edit: { name, value, person, reason } }) => ({
      name,
      value,
      person,
      reason,
    })),
    edits: events.filter(({ type }) => type === 'local-value').map(({ message }) => message),
  };
};

const setApart = async (folder: string, where: string): Promise<string | null> => {
  try {
    await run(process.execPath, [program, folder, where], {
      env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: join(world.folder, 'compiled') },
    });
    return null;
  } catch (error) {
    return (error as { readonly signal: string | null }).signal;
  }
};

describe('values set, whose process is killed with SIGKILL', () => {
  it.each(TABLES)(
    'in its transaction at %s has set nothing, and the same command sets it',
    async (where) => {
      const folder = copyOfWorld(world, `killed ${where}`);
      const before = endOf(folder);
      expect(await setApart(folder, where)).toBe('SIGKILL');
      expect(endOf(folder)).toEqual(before);
      using state = openFast(join(folder, 'state'));
      await setLocalValue(testAgent(state, folder), CHANGE);
      expect(endOf(folder)).toEqual(calm);
    },
    30_000,
  );

  it('after its transaction has set it once at every step: the next look, or the same command, ends it', async () => {
    expect(POINTS.length).toBeGreaterThan(2);
    for (const at of POINTS.keys()) {
      const folder = copyOfWorld(world, `killed ${at}`);
      expect(await setApart(folder, `${at}`), POINTS[at]).toBe('SIGKILL');
      using state = openFast(join(folder, 'state'));
      const agent = testAgent(state, folder);
      if (at % 2 === 0) await lookAround(agent);
      else await setLocalValue(agent, CHANGE);
      expect(endOf(folder), POINTS[at]).toEqual(calm);
    }
  }, 60_000);
});
