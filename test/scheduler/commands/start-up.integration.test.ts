import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runOrFail } from '../../harness/run/run-command.ts';
import { enrolled, type TestHub, testHub } from '../hub/test-hub.ts';

const REPOSITORY = join(import.meta.dirname, '../../..');

/** Prints the file of each module that a program loads, on standard error. */
const NAME_MODULES = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module';
  import { writeSync } from 'node:fs';
  registerHooks({ load: (url, context, next) => (writeSync(2, url + '\\n'), next(url, context)) });
`)}`;

const placesOf = ({ path, layout }: TestHub): readonly string[] =>
  Object.entries({ keys: join(path, 'keys'), db: join(path, 'hub.db'), layout }).flatMap(([flag, value]) => [
    `--${flag}`,
    value,
  ]);

describe('a command about a hub in a SQLite file', () => {
  let hub: TestHub;
  beforeAll(async () => {
    hub = await testHub();
    await enrolled(hub, 'plant-7/press-1');
  });
  afterAll(() => hub?.[Symbol.asyncDispose]());

  /** Files of the repository. */
  const loadedBy = async (...words: readonly string[]): Promise<readonly string[]> => {
    const program = join(REPOSITORY, 'scheduler/fleet-scheduler.js');
    const argv = [process.execPath, '--import', NAME_MODULES, program, ...words, ...placesOf(hub)];
    const { stderr } = await runOrFail(argv, { cwd: hub.path });
    const root = `file://${REPOSITORY}/`;
    return stderr.split('\n').flatMap((line) => (line.startsWith(root) ? [line.slice(root.length)] : []));
  };

  it.each([
    ['status', ['scheduler/load/load-platform.ts']],
    ['sites list', ['scheduler/load/objects/read-objects.ts']],
    ['sites set plant-7 a=1 --allow-unknown --dry-run', ['scheduler/author/', 'scheduler/deliver/']],
  ])(
    '%s loads no client of PostgreSQL, nothing that builds, and nothing else that it does not need',
    async (line, others) => {
      const loaded = await loadedBy(...line.split(' '));
      expect(loaded).toContain('scheduler/hub/open-hub.ts');
      const unused = ['node_modules/pg/', 'scheduler/build/', 'scheduler/render/', ...others];
      expect(loaded.filter((file) => unused.some((start) => file.startsWith(start)))).toEqual([]);
    },
  );
});
