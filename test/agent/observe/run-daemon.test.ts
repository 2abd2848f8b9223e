import { describe, expect, it } from 'vitest';
import { FleetError } from '#bundles/errors';
import { runDaemon } from '../../../agent/observe/run-daemon.ts';

const journal = () => {
  const lines: string[] = [];
  const level = (name: string) => (fields: object, message: string) =>
    void lines.push(`${name} ${message} ${JSON.stringify(fields)}`);
  return { lines, log: { info: level('info'), warn: level('warn'), error: level('error') } };
};

describe('the daemon', () => {
  it('looks again and again until its signal, then ends at once', async () => {
    const { lines, log } = journal();
    const controller = new AbortController();
    let looks = 0;
    await runDaemon(
      async () => {
        if (++looks === 3) controller.abort();
        return { packages: [], drift: [{ assignment: 'app', drift: [] }] };
      },
      1,
      log,
      controller.signal,
    );
    expect(looks).toBe(3);
    expect(lines.at(-1)).toBe('info stopped {}');
    expect(lines[0]).toBe('info looked {"packages":1,"drifted":0}');
  });

  it('survives a look that fails, and says why', async () => {
    const { lines, log } = journal();
    const controller = new AbortController();
    let looks = 0;
    await runDaemon(
      async () => {
        if (++looks === 1) throw new FleetError('BUSY', 'somebody else is at work');
        controller.abort();
        return {
          packages: [{ assignment: 'app', outcome: 'failed', code: 'CHECK_FAILED', message: 'no answer' }],
          drift: [
            { assignment: 'app', drift: [{ key: 'file:/x', what: 'missing', message: '/x is missing' }] },
          ],
        };
      },
      1,
      log,
      controller.signal,
    );
    expect(lines.map((line) => line.split(' {')[0])).toEqual([
      'error look failed',
      'error package failed',
      'warn drift',
      'info looked',
      'info stopped',
    ]);
    expect(lines[0]).toContain('"code":"BUSY"');
  });
});
