import { execFile } from 'node:child_process';
import { cpSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { importMedium } from '../../../agent/daemon/import-medium.ts';
import { lookAround } from '../../../agent/daemon/look-around.ts';
import { readPackages } from '../../../agent/store/applied/packages.ts';
import { createSecretWorld, hostOf, secretPackage } from '../../agent/secrets/secret-world.ts';
import { tracesBelow, tracesIn } from '../../agent/secrets/traces-of.ts';
import { openFast, testAgent } from '../../agent/world.ts';
import { isTried } from '../../harness/run/long.ts';
import { testProgramFile } from '../../harness/run/program-file.ts';

const program = testProgramFile('test/agent/secrets/import-apart.ts');
const run = promisify(execFile);

const ONE = 'MARKER-first-password-8c1f';
const TWO = 'MARKER-second-password-77ab';
const BAD = 'MARKER-wrong-password-5d2e';
const ALL = [ONE, TWO, BAD];

describe('an agent with secrets whose process is killed with SIGKILL', () => {
  it('ends as without a kill, at any point of its journal and with memory lost, without a trace', async () => {
    await using world = await createSecretWorld();
    const check = (id: string): readonly string[] => ['/bin/sh', '-c', `grep -q first run/${id}/password`];
    const first = [
      secretPackage('changed', 'db', 'password'),
      secretPackage('failing', 'web', 'password'),
      secretPackage('gone', 'db', 'password'),
    ];
    const second = [
      secretPackage('changed', 'db', 'password', { files: { '/opt/changed': 'two' } }),
      secretPackage('failing', 'web', 'password', {
        checks: [{ type: 'exec', name: 'reads', argv: check('failing'), timeoutSeconds: 5 }],
      }),
    ];
    const seal = (name: string, password: string, version: number) =>
      world.seal(name, { password }, { version });
    await world.take({
      secrets: { db: await seal('db', ONE, 1), web: await seal('web', ONE, 1) },
      packages: first,
    });
    const medium = await world.bring({
      siteVersion: 2,
      secrets: { db: await seal('db', TWO, 2), web: await seal('web', BAD, 2) },
      release: 2,
      packages: second,
    });
    world.agent.state[Symbol.dispose]();

    const copy = (name: string): string => {
      const folder = join(world.folder, 'copies', name);
      for (const part of ['state', 'host'])
        cpSync(join(world.folder, part), join(folder, part), { recursive: true });
      return folder;
    };
    const importApart = async (folder: string, n: number) => {
      try {
        const { stdout, stderr } = await run(process.execPath, [program, folder, medium, String(n)]);
        return { signal: null, printed: stdout + stderr };
      } catch (error) {
        const { signal, stdout, stderr } = error as { signal: string | null; stdout: string; stderr: string };
        return { signal, printed: stdout + stderr };
      }
    };
    const endState = (folder: string): object => {
      using state = openFast(join(folder, 'state'));
      const read = (path: string): string | undefined =>
        existsSync(join(folder, path)) ? readFileSync(join(folder, path), 'utf8') : undefined;
      return {
        files: ['changed', 'failing', 'gone'].map((id) => read(`host/run/${id}/password`)),
        packages: readPackages(state).map(({ assignment, status, code, current }) => ({
          assignment,
          status,
          code,
          current,
        })),
      };
    };

    const calm = copy('calm');
    const { printed, signal } = await importApart(calm, 0);
    expect(signal, printed).toBeNull();
    const undisturbed = endState(calm);
    // The failure of another package keeps no unrelated removal waiting.
    expect(undisturbed).toMatchObject({
      files: [TWO, ONE, undefined],
      packages: [
        { assignment: 'changed', status: 'healthy' },
        { assignment: 'failing', status: 'failed', code: 'CHECK_FAILED' },
      ],
    });
    const points = printed.trimEnd().split('\n');
    expect(points).toEqual(
      expect.arrayContaining(['apply changed: applied', 'apply failing (roll back): kept']),
    );
    for (const [index, point] of points.entries()) {
      if (!isTried(index, 5)) continue;
      const folder = copy(String(index));
      const died = await importApart(folder, index + 1);
      expect(died.signal, `${point}: ${died.printed}`).toBe('SIGKILL');
      expect(await tracesBelow(join(folder, 'state'), ALL), point).toEqual([]);
      expect(tracesIn(point, died.printed, ALL)).toEqual([]);
      // The power was gone: what was in memory is, too.
      if (index % 2 === 0) rmSync(join(folder, 'host/run'), { recursive: true, force: true });
      {
        using state = openFast(join(folder, 'state'));
        const agent = testAgent(state, folder, { targets: [hostOf(folder)] });
        await importMedium(agent, medium, { prune: true });
        await lookAround(agent);
      }
      expect(endState(folder), point).toEqual(undisturbed);
      expect(await tracesBelow(join(folder, 'state'), ALL), point).toEqual([]);
    }
  }, 600_000);
});
